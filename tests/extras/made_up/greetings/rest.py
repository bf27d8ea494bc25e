"""Its REST resource."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from greetings.models import Greeting
from synthweb.api.authentication import caller
from synthweb.runs import queue


class GreetingSerializer(serializers.Serializer):
    """A greeting of yours."""

    code = serializers.CharField()
    words = serializers.CharField()


class GreetingsView(APIView):
    """The greetings of a person."""

    write_scope = "read"

    @extend_schema(operation_id="greetings_list", responses=GreetingSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Your greetings."""
        mine = Greeting.objects.filter(asked_by=caller(request))
        return Response(GreetingSerializer(mine, many=True).data)

    @extend_schema(
        operation_id="greetings_ask", request=None, responses={202: GreetingSerializer}
    )
    def post(self, request: Request) -> Response:
        """Ask for a greeting."""
        made = Greeting.objects.create(asked_by=caller(request))
        queue.enqueue(Greeting.TASK, made.code, queue.DEFAULT)
        return Response(GreetingSerializer(made).data, status=202)


urlpatterns = [path("greetings/", GreetingsView.as_view(), name="greetings")]
