import Foundation
import TandemIO

@testable import TestRunner

/// The public symbols of the built modules, as `swift symbolgraph-extract` lists them.
struct PublicInterface {
    /// The modules that `import Tandem` shows.
    static let seenByApps = ["Tandem", "TandemModel", "TandemQuery", "TandemResults"]
    /// All modules of the products for apps and tools.
    static let modules =
        seenByApps + [
            "TandemEmbedded", "TandemService", "TandemDaemon", "TandemJournal", "TandemIO",
        ]

    /// One line for each symbol, sorted: `module kind path: declaration`.
    let lines: [String]

    /// Lists the modules in the folder `Modules` of a build.
    ///
    /// Throws an error with the output of the compiler's tool if it fails.
    init(modules: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "api-\(UUID())").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let flags = Self.flags(modules: modules) + ["-output-dir", folder]
        let children = try Self.modules.map { module in
            let command = (["swift", "symbolgraph-extract", "-module-name", module] + flags)
                .joined(separator: " ")
            return (
                module,
                try ChildProcess.start("/bin/sh", ["-c", command + " 2>&1"], output: .pipe)
            )
        }
        for (module, child) in children {
            let output = String(decoding: try child.readAll(), as: UTF8.self)
            guard child.wait() == .exited(0) else {
                throw Failure(description: "no symbols of \(module): \(output)")
            }
        }
        var lines: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            // `A@B.symbols.json` has the extensions of the types of module B in module A.
            let module = String(file.prefix { $0 != "." && $0 != "@" })
            let graph = try JSONDecoder().decode(
                Graph.self, from: try Data(contentsOf: URL(filePath: folder + "/" + file)))
            lines.formUnion(graph.symbols.map { "\(module) \($0.line)" })
        }
        self.lines = lines.sorted()
    }

    /// The number of symbols that `import Tandem` shows.
    var countSeenByApps: Int {
        lines.count { line in Self.seenByApps.contains { line.hasPrefix($0 + " ") } }
    }

    /// Returns the lines that were removed from a baseline (`-`) or added to it (`+`).
    func changes(from baseline: [String]) -> [String] {
        lines.difference(from: baseline).map { change in
            switch change {
            case .remove(_, let line, _): "- " + line
            case .insert(_, let line, _): "+ " + line
            }
        }
    }

    /// Returns the flags that find the modules of the package and of its dependencies.
    private static func flags(modules: String) -> [String] {
        let files = FileManager.default
        func entries(_ folder: String) -> [String] {
            ((try? files.contentsOfDirectory(atPath: folder)) ?? []).map { folder + "/" + $0 }
        }
        let build = URL(filePath: modules).deletingLastPathComponent()
        let triple = build.deletingLastPathComponent()
        let checkouts = triple.deletingLastPathComponent().path + "/checkouts"
        let includes = entries(checkouts).flatMap { entries($0 + "/Sources") }.map {
            $0 + "/include"
        }
        let folders = (includes + entries(Tree.root + "/Sources"))
            .filter { files.fileExists(atPath: $0 + "/module.modulemap") }
        let maps = entries(build.path).map { $0 + "/module.modulemap" }
            .filter(files.fileExists)
        return [
            "-target", triple.lastPathComponent, "-minimum-access-level", "public",
            "-skip-synthesized-members", "-I", modules,
        ] + folders.flatMap { ["-I", $0] } + maps.flatMap { ["-Xcc", "-fmodule-map-file=" + $0] }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Graph: Decodable {
        let symbols: [Symbol]
    }

    private struct Symbol: Decodable {
        struct Kind: Decodable {
            let identifier: String
        }
        struct Fragment: Decodable {
            let spelling: String
        }
        let kind: Kind
        let pathComponents: [String]
        let declarationFragments: [Fragment]

        /// `kind path: declaration`, without line breaks.
        var line: String {
            let declaration = declarationFragments.map(\.spelling).joined()
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let name = kind.identifier.replacing("swift.", with: "", maxReplacements: 1)
            return "\(name) \(pathComponents.joined(separator: ".")): \(declaration)"
        }
    }
}
