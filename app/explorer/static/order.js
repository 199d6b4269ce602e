// The order of the calls: as users need them.

// Methods in their order; the others follow in the order of the document.
const FIRST = [
  ...["create", "createMany", "login", "find", "findById", "patchAttributes", "changePassword", "changeEmail"],
  ...["verify", "confirm", "resetPassword", "setPassword", "__get__accessTokens"],
  ...["__destroyById__accessTokens", "__delete__accessTokens", "logout"],
];

/** Compare two operations for Swagger UI: those that need a role come last. */
export function compare(one, other) {
  return rank(one) - rank(other);
}

/** Return the name of an operation of Swagger UI, which renames opened ones. */
export function nameOf(each) {
  const operation = each.get("operation");
  return operation.get("__originalOperationId") ?? operation.get("operationId");
}

function rank(each) {
  const [, method] = nameOf(each).split(".");
  const place = FIRST.includes(method) ? FIRST.indexOf(method) : FIRST.length;
  const ways = each.getIn(["operation", "security"]);
  const needsRole = ways.size && ways.every((way) => way.some((roles) => roles.size));
  return place + (needsRole ? 2 * FIRST.length : 0);
}
