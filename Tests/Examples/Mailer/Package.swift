// swift-tools-version: 6.2
import PackageDescription

// A service that writes one line per completed item, exactly once.
let package = Package(
    name: "mailer",
    dependencies: [
        .package(name: "tandem", path: "../../.."), .package(name: "todo", path: "../Todo"),
    ],
    targets: [
        .executableTarget(
            name: "mailer",
            dependencies: [
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TodoModel", package: "todo"),
            ])
    ]
)
