"""LangChain's own standard tests for retrievers, where langchain-tests is installed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.aggregator.integrations.served import adapter, federation, framework

framework("langchain_core")
standard = framework("langchain_tests.integration_tests")
pytestmark = pytest.mark.filterwarnings("ignore")


class TestSecureCollaRetriever(standard.RetrieversIntegrationTests):  # type: ignore[misc,name-defined]
    @pytest.fixture(autouse=True, scope="class")
    def served(self, request: pytest.FixtureRequest) -> Any:
        with federation() as (connection, _):
            request.cls.connection = connection
            yield

    @property
    def retriever_constructor(self) -> type:
        return adapter("langchain").SecureCollaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"connection": self.connection, "keep_dropped": True}

    @property
    def retriever_query_example(self) -> str:
        return "Where is the archive?"
