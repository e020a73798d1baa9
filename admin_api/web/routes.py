"""Every page of the dashboard."""

from typing import Final

from fastapi import APIRouter

from admin_api.web.absences import router as absences
from admin_api.web.account import router as account
from admin_api.web.activity import router as activity
from admin_api.web.agents import router as agents
from admin_api.web.audit import router as audit
from admin_api.web.call import router as call
from admin_api.web.captures import router as captures
from admin_api.web.connection import router as connection
from admin_api.web.connection_callback import router as connection_callback
from admin_api.web.connection_new import router as connection_new
from admin_api.web.connections import router as connections
from admin_api.web.content_policies import router as content_policies
from admin_api.web.content_policy import router as content_policy
from admin_api.web.credentials import router as credentials
from admin_api.web.decide import router as decide
from admin_api.web.destinations import router as destinations
from admin_api.web.execution_settings import router as execution_settings
from admin_api.web.executions import router as executions
from admin_api.web.groups import router as groups
from admin_api.web.holds import router as holds
from admin_api.web.inbox import router as inbox
from admin_api.web.integration import router as integration
from admin_api.web.integrations import router as integrations
from admin_api.web.keys import router as keys
from admin_api.web.member import router as member
from admin_api.web.members import router as members
from admin_api.web.model_providers import router as model_providers
from admin_api.web.more import router as more
from admin_api.web.notification_channel import router as notification_channel
from admin_api.web.notification_messages import router as notification_messages
from admin_api.web.notification_rule import router as notification_rule
from admin_api.web.notifications import router as notifications
from admin_api.web.overview import router as overview
from admin_api.web.policies import router as policies
from admin_api.web.policy_new import router as policy_new
from admin_api.web.policy_order import router as policy_order
from admin_api.web.reports import router as reports
from admin_api.web.retention import router as retention
from admin_api.web.settings import router as settings
from admin_api.web.siem import router as siem
from admin_api.web.stop import router as stop
from admin_api.web.traffic import router as traffic
from admin_api.web.webhooks import router as webhooks

PAGES: Final[tuple[APIRouter, ...]] = (
    inbox,
    decide,
    activity,
    call,
    executions,
    overview,
    holds,
    audit,
    traffic,
    reports,
    account,
    absences,
    stop,
    more,
    agents,
    policy_order,
    content_policies,
    content_policy,
    policy_new,
    policies,
    settings,
    members,
    member,
    groups,
    destinations,
    execution_settings,
    credentials,
    captures,
    siem,
    model_providers,
    notifications,
    notification_channel,
    notification_rule,
    notification_messages,
    integrations,
    integration,
    retention,
    webhooks,
    keys,
    connections,
    connection_new,
    connection_callback,
    connection,
)
