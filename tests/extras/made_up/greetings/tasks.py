"""How a worker takes its turn at a greeting."""

from greetings.models import Greeting
from synthweb.celery import app
from synthweb.runs import turns


class Write(turns.Job[Greeting]):
    """A greeting is written."""

    model = Greeting
    word = "greeting"

    def do(self) -> None:
        self.end(state="finished", words=f"Good morning, {self.row.asked_by.username}")


@app.task(name=Greeting.TASK)
def write(code: str) -> None:
    """Write the greeting of this code."""
    turns.take(Write, code=code)
