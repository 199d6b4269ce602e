"""Each attack that docs/identity.md lists has a test."""

import re

from tests.oauth import test_config, test_linking, test_oidc_provider
from tests.support.installation import ROOT

from . import test_accounts, test_app_tokens, test_callbacks, test_id_tokens, test_providers

# The beginning of each row of the table, and the tests of it.
TESTS = {
    "a response to a login that another browser": [
        test_callbacks.test_a_login_is_one_of_the_browser_that_began_it,
        test_callbacks.test_a_changed_query_is_refused,
    ],
    "a response that was used": [
        test_callbacks.test_a_callback_works_once,
        test_callbacks.test_one_of_many_concurrent_callbacks_logs_in,
        test_callbacks.test_a_login_is_none_after_ten_minutes,
    ],
    "a code that was issued for another login": [
        test_oidc_provider.test_the_provider_refuses_another_verifier,
    ],
    "a response of another provider": [
        test_callbacks.test_an_answer_is_one_of_the_provider_that_was_asked,
        test_callbacks.test_a_changed_query_is_refused,
        test_callbacks.test_a_repeated_parameter_is_refused,
    ],
    "an ID token with another or no nonce": [
        test_id_tokens.test_what_is_not_proven_is_refused,
        test_app_tokens.test_an_id_token_that_is_not_for_this_service_is_refused,
    ],
    "an ID token without a signature": [
        test_id_tokens.test_what_is_not_proven_is_refused,
        test_app_tokens.test_a_forged_id_token_is_refused,
    ],
    "an ID token of an app that was used before": [
        test_app_tokens.test_a_token_is_used_once,
        test_app_tokens.test_a_token_is_used_once_however_its_signature_is_written,
    ],
    "an access token in place of an ID token": [
        test_app_tokens.test_what_is_no_id_token_is_refused,
    ],
    "metadata with another issuer": [
        test_providers.test_no_metadata_lead_elsewhere,
        test_providers.test_whatever_a_provider_answers_is_no_server_error,
    ],
    "a response with more than 128 KiB": [
        test_providers.test_a_profile_of_a_megabyte_is_refused,
        test_providers.test_a_long_profile_is_stored_in_part,
    ],
    "a provider that is slow or dead": [
        test_providers.test_a_provider_that_does_not_answer_delays_nobody_else,
        test_providers.test_a_provider_that_has_failed_is_left_alone_and_asked_later,
        test_providers.test_all_requests_of_a_login_share_one_deadline,
    ],
    "a provider that responds with an error": [
        test_callbacks.test_a_changed_query_is_refused,
        test_providers.test_whatever_a_provider_answers_is_no_server_error,
    ],
    "a redirect that is not listed": [
        test_config.test_an_entry_that_cannot_be_used_stops_the_start,
        test_callbacks.test_no_parameter_leads_a_login_elsewhere,
    ],
    "a `Host` header": [
        test_callbacks.test_the_callback_address_is_that_of_the_settings,
    ],
    "an email that is not verified": [
        test_linking.test_an_email_leads_to_a_user_only_if_it_is_the_users,
        test_accounts.test_an_email_opens_no_account_whose_owner_has_verified_it,
        test_accounts.test_an_account_that_was_made_in_advance_is_taken_from_who_made_it,
    ],
    "a page of another site": [
        test_linking.test_only_pages_of_this_site_begin_to_add_an_identity,
    ],
    "an address with somebody else's `access_token`": [
        test_linking.test_adding_an_identity_needs_a_session_but_not_one_in_the_address,
    ],
    "adding an identity that another user has": [
        test_linking.test_an_identity_of_another_user_is_not_added,
        test_accounts.test_one_of_two_concurrent_links_of_an_identity_wins,
    ],
    "ending what another user": [
        test_accounts.test_a_link_is_one_of_the_browser_and_the_user_who_began_it,
        test_accounts.test_a_link_that_is_under_way_ends_with_its_session,
    ],
    "removing the last way": [
        test_linking.test_the_last_way_to_log_in_is_not_removed,
        test_linking.test_of_two_identities_removed_at_once_one_stays,
    ],
    "many logins": [test_callbacks.test_logins_are_throttled],
}


def test_the_tests_are_those_of_the_documented_attacks():
    document = (ROOT / "docs" / "identity.md").read_text()
    section = document.partition("### What is refused\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!Attack|---)(.*?) \|", section, re.MULTILINE)

    assert len(rows) == len(TESTS)
    assert [row for row, start in zip(rows, TESTS, strict=True) if not row.startswith(start)] == []
