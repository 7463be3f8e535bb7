// swift-tools-version: 6.2
import PackageDescription

// An actor that deletes completed items and counts the rest, while other processes save.
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
