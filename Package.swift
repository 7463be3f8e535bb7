// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// Every target is compiled alike: Swift 6 mode, warnings are errors, `public import` shows what
// is part of a module's interface.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Only the programs need these packages: an app that depends on this package with `traits: []`
/// does not fetch them.
let programs = TargetDependencyCondition.when(traits: ["Programs"])
let arguments = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: programs)
// Values without I/O, which any module may use.
let algorithms = Target.Dependency.product(name: "Algorithms", package: "swift-algorithms")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let configuration: [Target.Dependency] = [
    .product(name: "Configuration", package: "swift-configuration", condition: programs),
    .product(name: "Yams", package: "Yams", condition: programs),
]

/// Also part of `Programs`, so that one trait is enabled by default: the build system writes the
/// flags of several in any order, and then compiles everything again.
let serverSide = TargetDependencyCondition.when(traits: ["Programs", "Services"])
let services: [Target.Dependency] = [
    .product(name: "Logging", package: "swift-log", condition: serverSide),
    .product(name: "CoreMetrics", package: "swift-metrics", condition: serverSide),
    .product(
        name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: serverSide),
]
let serviceTests: [Target.Dependency] = [
    .product(name: "MetricsTestKit", package: "swift-metrics", condition: serverSide),
    .product(
        name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle",
        condition: serverSide),
]

/// The trait with which `import Tandem` provides the macros.
let macros = TargetDependencyCondition.when(traits: ["Macros"])

let syntax = ["SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros"].map {
    Target.Dependency.product(name: $0, package: "swift-syntax", condition: macros)
}
let compilerPlugin = Target.Dependency.product(
    name: "SwiftCompilerPlugin", package: "swift-syntax", condition: macros)

/// Line tables for backtraces, without the names of variables, which would make compiling the tests
/// a tenth slower.
let tested = strict + [.unsafeFlags(["-gline-tables-only"])]

/// A test target `name` at `Tests/name` over the modules it tests.
func suite(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["TestSupport"], path: "Tests/\(name)",
        exclude: exclude, swiftSettings: tested)
}

let suites: [Target] = [
    suite("TandemIOTests", ["TandemIO"]),
    suite("TandemModelTests", ["TandemIO", "TandemModel"]),
    suite("TandemQueryTests", ["FuzzTargets", "TandemIO", "TandemModel", "TandemQuery"]),
    suite("TandemResultsTests", ["TandemIO", "TandemModel", "TandemQuery", "TandemResults"]),
    suite("TandemJournalTests", ["TandemIO", "TandemJournal"], exclude: ["Fixtures"]),
    suite("TandemStoreTests", ["TandemIO", "TandemModel", "TandemQuery", "TandemStore"]),
    suite(
        "TandemWireTests", ["FuzzTargets", "TandemIO", "TandemModel", "TandemQuery", "TandemWire"]),
    suite("TandemDaemonTests", ["TandemDaemon", "TandemWire", "TandemModel"]),
    suite("TandemTests", ["Tandem", "TandemEmbedded", "TandemDaemon", "TestWorlds"]),
    suite("TandemServiceTests", ["TandemService", "TandemEmbedded"] + services + serviceTests),
    suite(
        "ProcessTests",
        [
            "Tandem", "TandemIO", "TandemJournal", "TandemStore", "tandemd", "tandem", "worldcup",
            "MainLoops", "TestWorlds", "FuzzTargets",
        ], exclude: ["Flights", "Golden"]),
    // The recorder is preloaded C, built by the tests.
    suite("FaultTests", ["TandemDaemon", "tandemd"], exclude: ["Recorder"]),
    suite(
        "SimulationTests",
        ["TandemDaemon", "TandemIO", "TandemJournal", "TandemModel", "TandemStore", "TandemWire"]),
    suite("FuzzTests", ["FuzzTargets", "TandemIO"]),
    suite("OracleTests", ["CSQLite", "Tandem", "TandemEmbedded", "TandemIO"]),
    suite("TestRunnerTests", ["TandemIO", "TestRunner"]),
    suite("TidyTests", ["TestRunner"], exclude: ["PublicInterface.txt"]),
]

let package = Package(
    name: "tandem",
    products: [
        .library(name: "Tandem", targets: ["Tandem"]),
        .library(name: "TandemEmbedded", targets: ["TandemEmbedded"]),
        .library(name: "TandemService", targets: ["TandemService"]),
        .library(name: "TandemJournal", targets: ["TandemJournal", "TandemIO"]),
        // For Tests/Fuzzing, which is a package of its own.
        .library(name: "FuzzTargets", targets: ["FuzzTargets"]),
        // For Tests/Macros, which is a package of its own, too.
        .library(name: "TandemMacros", targets: ["TandemMacros"]),
        // For Tests/Benchmarks, likewise.
        .library(name: "BenchmarkTargets", targets: ["BenchmarkTargets"]),
        .executable(name: "tandemd", targets: ["tandemd"]),
        .executable(name: "tandem", targets: ["tandem"]),
    ],
    traits: [
        .default(enabledTraits: ["Programs"]),
        .trait(
            name: "Programs",
            description: "tandemd and tandem, and what is tested with them"),
        .trait(
            name: "Services",
            description: "TandemService: logging, metrics, and consumers in a group of services"),
        .trait(name: "Macros", description: "Provides the model macros; needs swift-syntax."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-algorithms", from: "1.2.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        // Debian's liblmdb.
        .systemLibrary(
            name: "CLMDB", path: "Sources/CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"])]),
        // Debian's libsqlite3, an oracle for tests.
        .systemLibrary(
            name: "CSQLite", path: "Tests/CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]),
        // CRC-32C by the processor's instruction, for which Swift has no name.
        .target(
            name: "CChecksum", path: "Sources/CChecksum",
            cSettings: [.treatAllWarnings(as: .error)]),
        // The kernel seam, real and simulated: files, sync, locks, sockets, credentials, clock.
        .target(
            name: "TandemIO", dependencies: [deque], path: "Sources/TandemIO",
            swiftSettings: strict),
        // Values only: model, object ids, rows, change sets and their one binary coding.
        .target(
            name: "TandemModel", dependencies: [algorithms], path: "Sources/TandemModel",
            swiftSettings: strict),
        // Predicates, sort orders, fetch requests: parse, print, evaluate; no I/O.
        .target(
            name: "TandemQuery", dependencies: ["TandemModel", algorithms],
            path: "Sources/TandemQuery",
            swiftSettings: strict),
        // The sectioned ordered list and its change arithmetic; no I/O, never awaits.
        .target(
            name: "TandemResults", dependencies: ["TandemModel", "TandemQuery", algorithms],
            path: "Sources/TandemResults", swiftSettings: strict),
        // Segmented append-only log of opaque payloads: write, read, tail, recover, retain.
        .target(
            name: "TandemJournal", dependencies: ["TandemIO", "CChecksum", algorithms, deque],
            path: "Sources/TandemJournal", swiftSettings: strict),
        // LMDB: rows, indexes, planner, read snapshots, apply(transaction), checkpoints.
        .target(
            name: "TandemStore",
            dependencies: ["TandemModel", "TandemQuery", "TandemIO", "CLMDB", algorithms],
            path: "Sources/TandemStore", swiftSettings: strict),
        // Frames, messages, incremental decoder, the connection state machines; no sockets.
        .target(
            name: "TandemWire", dependencies: ["TandemModel", "TandemQuery"],
            path: "Sources/TandemWire", swiftSettings: strict),
        // The daemon as a library: listener, sessions, committer, fan-out, checkpointer.
        .target(
            name: "TandemDaemon",
            dependencies: [
                "TandemIO", "TandemModel", "TandemQuery", "TandemJournal", "TandemStore",
                "TandemWire", algorithms, deque,
            ], path: "Daemon/TandemDaemon", swiftSettings: strict),
        // The daemon's executable.
        .executableTarget(
            name: "tandemd", dependencies: ["TandemDaemon", arguments] + configuration,
            path: "Daemon/tandemd", swiftSettings: strict),
        // The client library: container, contexts, objects, merging, results controllers.
        .target(
            name: "Tandem",
            dependencies: [
                "TandemIO", "TandemModel", "TandemQuery", "TandemResults", "TandemWire",
                .target(name: "TandemMacroPlugin", condition: macros), algorithms, deque,
            ],
            path: "Client/Tandem",
            // A context is not Sendable: its async functions run where their caller runs.
            swiftSettings: strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
        // The expansions of the macros; without the trait, this module is empty.
        .target(
            name: "TandemMacros", dependencies: syntax, path: "Client/TandemMacros",
            swiftSettings: strict),
        // The program that the compiler starts to expand macros.
        .macro(
            name: "TandemMacroPlugin",
            dependencies: ["TandemMacros", compilerPlugin],
            path: "Client/TandemMacroPlugin", swiftSettings: strict),
        // The same container with the daemon inside the process: single-process apps and tests.
        .target(
            name: "TandemEmbedded", dependencies: ["Tandem", "TandemDaemon"],
            path: "Client/TandemEmbedded", swiftSettings: strict),
        // The container among other services: logging, metrics, consumers that a group runs.
        .target(
            name: "TandemService", dependencies: ["Tandem"] + services,
            path: "Client/TandemService", swiftSettings: strict),
        // The admin command, a file per verb.
        .executableTarget(
            name: "tandem",
            dependencies: ["Tandem", "TandemJournal", "TandemStore", algorithms, arguments],
            path: "Sources/tandem", swiftSettings: strict),
        // The example app of the demo and the tour.
        .executableTarget(
            name: "worldcup", dependencies: ["Tandem", arguments], path: "Sources/worldcup",
            resources: [.copy("Resources/worldcup-2022.json")], swiftSettings: strict),
        // An app in a main loop of GLib, or around poll, for the tests.
        .executableTarget(
            name: "MainLoops", dependencies: ["Tandem"], path: "Tests/MainLoops",
            swiftSettings: strict),
        // Shared by all test targets: seeds, volumes, directories, threads that may block, small
        // lists and the rules for reports of their changes.
        .target(
            name: "TestSupport", dependencies: ["TandemIO", "TandemModel", "TandemWire"],
            path: "Tests/TestSupport", swiftSettings: strict),
        // Random object graphs, and a plain implementation of lists to compare with.
        .target(
            name: "TestWorlds", dependencies: ["Tandem", "TestSupport"], path: "Tests/TestWorlds",
            swiftSettings: strict),
        // Runs each suite in a process of its own.
        .executableTarget(
            name: "TestRunner", dependencies: ["TandemIO", arguments], path: "Tests/TestRunner",
            swiftSettings: strict),
        // Properties of any input; FuzzTests runs them, and Tests/Fuzzing does under libFuzzer.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "TandemIO", "TandemModel", "TandemQuery", "TandemJournal", "TandemStore",
                "TandemWire", "TandemDaemon",
            ], path: "Tests/FuzzTargets", swiftSettings: strict),
        // Parts of Tests/Benchmarks that use internals: a list without objects, a made journal.
        .target(
            name: "BenchmarkTargets",
            dependencies: ["TandemIO", "TandemModel", "TandemJournal", "TandemResults"],
            path: "Tests/BenchmarkTargets", swiftSettings: strict),
    ] + suites
)
