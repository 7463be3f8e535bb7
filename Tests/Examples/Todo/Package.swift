// swift-tools-version: 6.2
import PackageDescription

let tandem = Target.Dependency.product(name: "Tandem", package: "tandem")

// A to-do list: a command that edits it, and a program that shows it while others edit.
let package = Package(
    name: "todo",
    products: [.library(name: "TodoModel", targets: ["TodoModel"])],
    dependencies: [.package(name: "tandem", path: "../../..")],
    targets: [
        .target(name: "TodoModel", dependencies: [tandem]),
        .executableTarget(name: "todo", dependencies: ["TodoModel", tandem]),
        .executableTarget(name: "todolive", dependencies: ["TodoModel", tandem]),
    ]
)
