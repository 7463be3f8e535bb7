// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The client side of the benchmarks; run.sh starts it beside the release build of tandemd.
let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "tandem", path: "../..")],
    targets: [
        // Debian's liblmdb, for what its pages cost by themselves.
        .systemLibrary(name: "CLMDBFloor"),
        // Debian's SQLite, which other apps read with.
        .systemLibrary(name: "CSQLiteFloor"),
        .executableTarget(
            name: "tandembench",
            dependencies: [
                "CLMDBFloor",
                "CSQLiteFloor",
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TandemJournal", package: "tandem"),
            ],
            swiftSettings: strict),
    ]
)
