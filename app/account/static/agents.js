// Names of browsers and systems, from their User-Agent headers.

// The first match counts: most browsers name others, too.
const BROWSERS = [
  ["Edge", /\bEdg(e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chromium", /\bChromium\//],
  ["Chrome", /\b(HeadlessChrome|Chrome|CriOS)\//],
  ["Safari", /\bSafari\//],
];
const SYSTEMS = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
];

/** Return a short name for a program, such as "Firefox on Linux"; the header if it is unknown. */
export function describeAgent(userAgent) {
  const [browser, system] = [BROWSERS, SYSTEMS].map((known) => known.find(([, word]) => word.test(userAgent)));
  if (!userAgent || !browser) {
    return userAgent || "Unknown program";
  }
  return system ? `${browser[0]} on ${system[0]}` : browser[0];
}
