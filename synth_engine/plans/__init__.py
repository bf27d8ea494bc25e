"""The foundations of every method: configs and plans, parameters, shares of a budget, learning
of undeclared columns, resources and forecasts."""
