"""Viewsets: fetch and authorise by a selector, call a service, serialise. No rule of business lives here."""
