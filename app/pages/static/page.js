// What the service tells a page: paths and settings.

export const page = JSON.parse(document.body.dataset.page);
