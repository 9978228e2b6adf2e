"""Settings of hypothesis for all tests: no test fails because a machine is slow."""

from hypothesis import HealthCheck, settings

settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")
