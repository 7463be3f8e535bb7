import TestSupport

/// How many crash images are looked at: TANDEM_IMAGES, or what fits into every run of the tests.
let imageCount = Volume.variable("TANDEM_IMAGES", or: 160, deep: 1_000)
