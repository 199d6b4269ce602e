// The service's settings for a page: paths and features.

export const page = JSON.parse(document.body.dataset.page);
