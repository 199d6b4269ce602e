// Names of properties, in words.

const BOUNDARY = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+/;

/** Return the name of a property in words: "Badge number" for `badgeNumber`. */
export function inWords(name) {
  const words = name.split(BOUNDARY).filter(Boolean).map(lowered).join(" ");
  return words ? words[0].toUpperCase() + words.slice(1) : name;
}

/** Return a word in lower case, unless it is an abbreviation in capitals. */
function lowered(word) {
  return /^[A-Z0-9]{2,}$/.test(word) ? word : word.toLowerCase();
}
