// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

func syntax(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-syntax") }

// The macros: their expansions and diagnostics, and an app that uses them. The main package builds
// without its trait `Macros`, so that its tests need no swift-syntax.
let package = Package(
    name: "macros",
    dependencies: [
        .package(name: "tandem", path: "../..", traits: ["Macros"]),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        .testTarget(
            name: "ExpansionTests",
            dependencies: [
                .product(name: "TandemMacros", package: "tandem"),
                syntax("SwiftSyntaxMacroExpansion"), syntax("SwiftSyntaxMacrosGenericTestSupport"),
            ], path: "ExpansionTests", swiftSettings: strict),
        .testTarget(
            name: "MacroTests",
            dependencies: [
                .product(name: "Tandem", package: "tandem"),
                .product(name: "TandemEmbedded", package: "tandem"),
            ], path: "MacroTests",
            // Async functions run where their caller runs, as in apps with this setting.
            swiftSettings: strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    ])
