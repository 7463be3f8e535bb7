import TestSupport

/// The number of crash images to check: TANDEM_IMAGES, or as many as fit into every test run.
let imageCount = Volume.variable("TANDEM_IMAGES", or: 160, deep: 1_000)
