"""What every method rests on: configs and plans, parameters, shares of a budget, learning what is open, needs and forecasts."""
