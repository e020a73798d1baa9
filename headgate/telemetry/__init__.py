"""OpenTelemetry: what a process hands to a collector over OTLP, where an operator names one.

Only ``headgate.telemetry.settings`` may be imported where telemetry is off: the other modules need the extra
``opentelemetry``.
"""
