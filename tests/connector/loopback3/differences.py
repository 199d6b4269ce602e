"""The calls whose outcome is not LoopBack's, by the key of the reason in `tools/differences.py`."""

# Data sources that LoopBack loads, and that are refused here.
REFUSED: dict[str, tuple[str, ...]] = {
    "response paths": (
        "response_path_negative_index",
        "response_path_negative_before_a_name",
        "response_path_names",
        "response_path_parent",
        "response_path_leading_dot",
        "response_path_names_of_a_list",
        "response_path_malformed",
        "variable_in_a_response_path",
        "response_path_lengths_everywhere",
        "response_path_script_with_another_number",
        "response_path_property_of_a_filter",
        "response_path_index_of_the_root",
    ),
    "strictSSL": ("text_as_a_boolean_option",),
    "urls and operations": (
        "url_that_is_no_address",
        "url_of_another_scheme",
        "operations_that_are_no_list",
    ),
}

# Data sources that LoopBack refuses, and that load here.
ACCEPTED: dict[str, tuple[str, ...]] = {
    "parameters with a source": ("parameter_with_a_source_only",),
}

# Calls that LoopBack answers in another way.
IN_THE_LIBRARY: dict[str, tuple[str, ...]] = {
    "path values": (
        "values_in_a_path: get",
        "values_in_a_path: get 2",
        "values_in_a_path: get 3",
        "values_in_a_path: get 4",
        "values_in_a_path: send",
    ),
    "deleting without an id": ("values_in_a_path: remove",),
    "variable hosts": (
        "host_as_a_variable: status",
        "host_as_a_variable: fetch",
    ),
    "header values": ("values_that_do_not_fit: header",),
    "defaults": (
        "default_without_a_type_and_another_variable: invoke",
        "default_without_a_type_and_another_variable: invoke 2",
        "required_variable_behind_a_default_without_a_type: invoke",
        "required_variable_behind_a_default_without_a_type: invoke 2",
        "values_that_do_not_fit: colons",
    ),
    "values of a wrong type": (
        "values_that_do_not_fit: number",
        "values_that_do_not_fit: number 2",
        "values_that_do_not_fit: flag",
        "values_that_do_not_fit: flag 2",
        "values_that_do_not_fit: trueByDefault",
        "values_that_do_not_fit: chosen",
    ),
    "objects": (
        "values_that_do_not_fit: join",
        "values_that_do_not_fit: object",
    ),
    "missing names": ("values_that_do_not_fit: keyed",),
    "broken JSON": ("bodies_that_do_not_fit: get",),
    "redirects of other methods": ("bodies_that_do_not_fit: post",),
    "referers": ("file_service: moved",),
    "credentials on two levels": (
        "two_credentials: basic",
        "two_credentials: own",
    ),
    "relative urls": ("relative_url: get",),
    "invoke of several operations": ("two_operations_and_invoke: invoke",),
    "attachments": ("attachments: upload",),
    "headers in hooks": ("hook_that_reads_all_headers: get",),
    "names of resources": ("resource_methods_with_another_meaning: person.find",),
    "flat filters": ("resource_methods_with_another_meaning: user.find",),
    "filters as repeated entries": ("nested_filters_as_repeated_entries: order.find",),
    "fields of the remote": ("resource_methods_with_another_meaning: user.create",),
    "exists and count": (
        "resource_methods_with_another_meaning: user.exists",
        "resource_methods_with_another_meaning: user.count",
    ),
    "deleted without a body": ("resource_methods_with_another_meaning: user.destroyById",),
    "deleting everything": (
        "resource_methods_with_another_meaning: user.destroyAll",
        "resource_methods_with_another_meaning: user.destroyAll 2",
    ),
    "names of the data source": (
        "boards: close",
        "function_with_a_name_of_the_data_source: define",
    ),
    "vendor types": ("json_off: vendor",),
    "blanks in a method": ("method_with_a_blank: get",),
    "other matches": (
        "response_path_item_of_text: rows",
        "response_path_filter_without_parentheses: rows",
        "response_path_union_of_names: rows",
        "response_path_equality_of_text_and_number: rows",
        "response_path_length_as_a_condition: rows",
    ),
}

# Calls that differ only when they are made through an endpoint.
AT_ENDPOINTS: dict[str, tuple[str, ...]] = {"objects in a query": ("key_value_store: list",)}

# Calls that differ only when the data source does not say that it is LoopBack 3's. The other
# cases are equivalent without that.
WITHOUT_COMPATIBILITY: dict[str, tuple[str, ...]] = {
    "surplus arguments": (
        "repository_with_one_operation: invoke 3",
        "repository_with_one_operation: repository 2",
        "invoke_with_names: invoke 4",
        "invoke_with_names: run 2",
    ),
    "fixed arguments": (
        "fixed_arguments: directions",
        "fixed_arguments: places",
    ),
}
NEED_COMPATIBILITY = sorted(
    {call.partition(":")[0] for calls in WITHOUT_COMPATIBILITY.values() for call in calls}
)
