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
        .executableTarget(
            name: "tandembench",
            dependencies: [
                "CLMDBFloor",
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TandemJournal", package: "tandem"),
            ],
            swiftSettings: strict),
    ]
)
