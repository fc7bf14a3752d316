"""Where the vehicle is, from its sensors, and how sure it is of that."""

from ghost.estimation.config import EstimatorConfig
from ghost.estimation.estimator import Estimator
from ghost.estimation.ledger import Ledger, Tally

__all__ = ["Estimator", "EstimatorConfig", "Ledger", "Tally"]
