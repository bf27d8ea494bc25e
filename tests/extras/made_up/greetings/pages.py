"""Its pages."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path

from greetings.models import Greeting


@login_required
def index(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("all greetings")


@login_required
def greeting(request: HttpRequest, code: str) -> HttpResponse:
    return HttpResponse(get_object_or_404(Greeting, code=code, asked_by=request.user).words)


app_name = "greetings"
urlpatterns = [
    path("greetings/", index, name="index"),
    path("greetings/<slug:code>/", greeting, name="greeting"),
]
