// swift-tools-version: 6.2
import PackageDescription

// An app with the daemon inside its process: a visitors' book.
let package = Package(
    name: "kiosk",
    dependencies: [.package(name: "tandem", path: "../../..")],
    targets: [
        .executableTarget(
            name: "kiosk",
            dependencies: [
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TandemEmbedded", package: "tandem"),
            ])
    ]
)
