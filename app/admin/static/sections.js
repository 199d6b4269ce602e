// The sections of the page: which calls each needs, and the module with its views.

import { storesOf } from "./access.js";

// In the order of the navigation; one without a title is not in it. Files are for callers
// who may list the containers of a store.
const SECTIONS = [
  { name: "state", title: "State", method: "state", load: () => import("./state.js") },
  { name: "users", title: "Users", method: "findUsers", load: () => import("./users.js") },
  { name: "roles", title: "Roles", method: "findRoles", load: () => import("./roles.js") },
  { name: "audit", title: "Audit log", method: "findAudit", load: () => import("./audit.js") },
  { name: "outbox", title: "Outbox", method: "findOutbox", load: () => import("./outbox.js") },
  { name: "webhooks", title: "Webhooks", method: "findWebhooks", load: () => import("./webhooks.js") },
  { name: "jobs", title: "Jobs", method: "findJobs", load: () => import("./jobs.js") },
  { name: "locks", title: "Locks", method: "findThrottles", load: () => import("./locks.js") },
  { name: "files", title: "Files", isAllowed: (admin) => storesOf(admin).length > 0, load: () => import("./files.js") },
  { name: "models", title: "Models", method: "findModels", load: () => import("./models.js") },
  { name: "sources", title: "Data sources", method: "findDataSources", load: () => import("./sources.js") },
  { name: "providers", title: "Providers", method: "findProviders", load: () => import("./providers.js") },
  { name: "settings", title: "Settings", method: "findSettings", load: () => import("./settings.js") },
  { name: "rows", method: "findModels", load: () => import("./rows.js") },
];

/** Return the sections that the caller may use. */
export function allowedSections(admin) {
  return SECTIONS.filter(({ method, isAllowed }) => (isAllowed ? isAllowed(admin) : admin.mayAdmin(method)));
}

/** Return the section with a name, the first one without a name, or undefined. */
export function findSection(sections, name) {
  return name ? sections.find((section) => section.name === name) : sections[0];
}
