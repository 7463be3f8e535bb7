// swift-tools-version: 6.2
import PackageDescription

// An actor that works beside other processes: it removes what is done and counts what is left.
let package = Package(
    name: "archiver",
    dependencies: [
        .package(name: "tandem", path: "../../.."), .package(name: "todo", path: "../Todo"),
    ],
    targets: [
        .executableTarget(
            name: "archiver",
            dependencies: [
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TodoModel", package: "todo"),
            ])
    ]
)
