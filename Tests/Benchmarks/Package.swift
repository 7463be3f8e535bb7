// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The client side of the benchmarks; run.sh runs it with the release build of tandemd.
let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "tandem", path: "../..")],
    targets: [
        // Debian's liblmdb, to measure the cost of its pages alone.
        .systemLibrary(name: "CLMDBFloor"),
        // Debian's SQLite, which other apps use for reading.
        .systemLibrary(name: "CSQLiteFloor"),
        .executableTarget(
            name: "tandembench",
            dependencies: [
                "CLMDBFloor",
                "CSQLiteFloor",
                .product(name: "BenchmarkTargets", package: "tandem"),
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TandemJournal", package: "tandem"),
            ],
            swiftSettings: strict),
    ]
)
