// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The targets of Tests/FuzzTargets under libFuzzer; run.sh builds and runs it.
let package = Package(
    name: "fuzzing",
    dependencies: [.package(name: "tandem", path: "../..")],
    targets: [
        // Builds only with `--sanitize fuzzer`, which provides the program's `main`.
        .executableTarget(
            name: "tandemfuzz",
            dependencies: [.product(name: "FuzzTargets", package: "tandem")],
            path: "Sources/tandemfuzz", swiftSettings: strict)
    ]
)
