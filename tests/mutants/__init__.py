"""A run that changes code in a sample of places, and counts the changes that tests notice.

`python -m tests.mutants` (or `make mutants`) copies the project and records which functions each test runs (visits.py).
It chooses some of the changes that cosmic-ray can make (sample.py), makes one after the other in a copy, and runs the
tests that run the changed function (choice.py, trial.py). It prints the score and what no test noticed (report.py).
"""
