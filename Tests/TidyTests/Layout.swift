/// The layout that the design fixes: the targets, their folders, and their allowed imports of other
/// targets.
enum Layout {
    /// A target and its allowed imports.
    struct Target {
        var name: String
        var folder: String
        var imports: Set<String>
        /// Whether the target may import the kernel's interface.
        var mayUseKernel = false
        /// Whether the target may import third-party packages.
        var isEdge = false
        var hasFrontPage = true
    }

    /// Modules of other packages that have value types and no I/O; any module may import them.
    static let valuePackages: Set<String> = ["Algorithms", "DequeModule"]

    static let topLevel: Set<String> = [
        "Package.swift", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "Makefile",
        "Sources", "Client", "Daemon", "Tests", "systemd",
    ]

    static let targets: [Target] = [
        Target(name: "CLMDB", folder: "Sources", imports: [], hasFrontPage: false),
        // Tests compare fetches with it.
        Target(name: "CSQLite", folder: "Tests", imports: [], hasFrontPage: false),
        // The processor's CRC-32C instruction, which Swift can't reach otherwise.
        Target(name: "CChecksum", folder: "Sources", imports: [], hasFrontPage: false),
        Target(name: "TandemIO", folder: "Sources", imports: [], mayUseKernel: true),
        Target(name: "TandemModel", folder: "Sources", imports: []),
        Target(name: "TandemQuery", folder: "Sources", imports: ["TandemModel"]),
        Target(name: "TandemResults", folder: "Sources", imports: ["TandemModel", "TandemQuery"]),
        Target(
            name: "TandemJournal", folder: "Sources", imports: ["TandemIO", "CChecksum"]),
        Target(
            name: "TandemStore", folder: "Sources",
            imports: ["TandemModel", "TandemQuery", "TandemIO", "CLMDB"], mayUseKernel: true),
        Target(name: "TandemWire", folder: "Sources", imports: ["TandemModel", "TandemQuery"]),
        Target(
            name: "TandemDaemon", folder: "Daemon",
            imports: [
                "TandemIO", "TandemModel", "TandemQuery", "TandemJournal", "TandemStore",
                "TandemWire",
            ]),
        Target(
            name: "tandemd", folder: "Daemon", imports: ["TandemDaemon"], isEdge: true,
            hasFrontPage: false),
        Target(
            name: "Tandem", folder: "Client",
            imports: [
                "TandemIO", "TandemModel", "TandemQuery", "TandemResults", "TandemWire",
                "TandemMacroPlugin",
            ]),
        // With the trait `Macros` only.
        Target(
            name: "TandemMacros", folder: "Client", imports: [], isEdge: true,
            hasFrontPage: false),
        Target(
            name: "TandemMacroPlugin", folder: "Client", imports: ["TandemMacros"], isEdge: true,
            hasFrontPage: false),
        Target(
            name: "TandemEmbedded", folder: "Client", imports: ["Tandem", "TandemDaemon"],
            hasFrontPage: false),
        Target(
            name: "TandemService", folder: "Client", imports: ["Tandem"], isEdge: true,
            hasFrontPage: false),
        Target(
            name: "tandem", folder: "Sources", imports: ["Tandem", "TandemJournal", "TandemStore"],
            isEdge: true),
        Target(
            name: "TestSupport", folder: "Tests",
            imports: ["TandemIO", "TandemModel", "TandemWire"], mayUseKernel: true,
            hasFrontPage: false),
        Target(
            name: "TestWorlds", folder: "Tests", imports: ["Tandem", "TestSupport"],
            hasFrontPage: false),
        // An app in the main loop of another library.
        Target(
            name: "MainLoops", folder: "Tests", imports: ["Tandem"], mayUseKernel: true,
            isEdge: true, hasFrontPage: false),
        // The runner reads `/proc` and ends processes.
        Target(
            name: "TestRunner", folder: "Tests", imports: ["TandemIO"], mayUseKernel: true,
            isEdge: true, hasFrontPage: false),
        Target(
            name: "FuzzTargets", folder: "Tests",
            imports: [
                "TandemIO", "TandemModel", "TandemQuery", "TandemJournal", "TandemStore",
                "TandemWire", "TandemDaemon",
            ], hasFrontPage: false),
        Target(
            name: "BenchmarkTargets", folder: "Tests",
            imports: ["TandemIO", "TandemModel", "TandemJournal", "TandemResults"],
            hasFrontPage: false),
        Target(
            name: "worldcup", folder: "Sources", imports: ["Tandem"], isEdge: true,
            hasFrontPage: false),
    ]

    static func target(_ name: String?) -> Target? { targets.first { $0.name == name } }

    /// Returns the targets that a target may import.
    ///
    /// A library may import only the targets that it declares. Programs and `TandemEmbedded` may
    /// also import the dependencies of their dependencies, except the C targets.
    static func reachable(from target: Target) -> Set<String> {
        guard target.isEdge || target.name == "TandemEmbedded" else { return target.imports }
        var found: Set<String> = []
        var open = Array(target.imports)
        while let name = open.popLast() {
            guard found.insert(name).inserted else { continue }
            open += Self.target(name)?.imports ?? []
        }
        return found.subtracting(["CLMDB", "CChecksum"])
    }
}
