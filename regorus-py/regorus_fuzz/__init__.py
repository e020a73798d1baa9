"""A fuzzer of the binding: mutated policies and inputs, evaluated in a child process that may die."""
