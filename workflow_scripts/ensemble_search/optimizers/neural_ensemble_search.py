"""Neural ensemble search by regularized evolution (DivBO paper, NES; Zaidi et al., 2021)."""

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.greedy.forward_selection import current, forward_selection
from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new

TRIES = 100  # parents and mutations to try for a new configuration


class NeuralEnsembleSearch(Optimizer):
    """NES-RE: mutations of the members of an ensemble of recent models.

    (Zaidi et al., NeurIPS 2021.) The first ``population`` evaluations are random. Then forward
    selection without replacement chooses ``parents`` models from the population (the last
    ``population`` successes) by the error of their mean probabilities, breaking ties at random. A
    random one of them is the parent. One of its active hyperparameters, chosen at random, gets
    another value, drawn uniformly; hyperparameters that this activates get random values.

    The DivBO paper uses a population of 30; the NES authors' default is 10 parents. Two ensembles
    suit this search: ``selection`` from all evaluations, as in the NES paper, and ``population``,
    from the latest ones only.

    ``why``: ``origin`` (``initial``, ``mutation``, or ``fallback``: random, after 100 mutations
    that were not new), ``parent`` (its iteration), ``mutated``.
    """

    population: int = Field(
        30,
        ge=1,
        description="Number of random evaluations at the start; size of the population (the "
        "latest successes).",
    )
    parents: int = Field(10, ge=1, description="Size of the ensemble from which parents are drawn.")

    @property
    def minimum_evaluations(self) -> int:
        """The first population plus one mutation."""
        return self.population + 1

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether the first population is complete."""
        return evaluations >= self.population

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest a new mutation of a parent, or a random configuration if none is found."""
        if len(history) < self.population or not len(history.ok):
            return Suggestion(random_new(history, rng), {"origin": "initial"})
        alive = current(history.ok, self.population)
        predictions = history.predictions[-len(alive) :]
        chosen = forward_selection(
            predictions, history.labels, self.parents, rng, history.problem.metric
        )
        for _ in range(TRIES):
            parent = int(alive[chosen[rng.integers(len(chosen))]])
            mutant = history.space.mutate(history.observations[parent].configuration, rng)
            if mutant is not None and mutant[0] not in history.seen:
                # Iterations count from 1.
                why = {"origin": "mutation", "parent": parent + 1, "mutated": mutant[1]}
                return Suggestion(mutant[0], why)
        return Suggestion(random_new(history, rng), {"origin": "fallback"})
