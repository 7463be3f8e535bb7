import Foundation
import TandemIO

/// The test targets that passed, each with a digest of everything that its tests depend on.
///
/// Such a target need not run again, as with the test cache of `go test`. In a fresh clone there
/// are no such targets.
struct PassedTargets {
    /// Targets whose tests read files outside of the folders they depend on, or run all programs.
    private static let readWholeTree: Set<String> = ["ProcessTests", "TidyTests", "FuzzTests"]
    private static let top = [
        "Package.swift", "Package.resolved", "Makefile", "README.md", "ARCHITECTURE.md",
        "CONTRIBUTING.md", "LICENSE",
        "Sources", "Client", "Daemon", "Tests", "systemd",
    ]

    /// The digests of the present tree, by target.
    private let now: [String: String]
    private var passed: [String: String]
    private let path: String

    /// Reads the record at `path`, and computes the digests of the package in the current folder.
    init(path: String, targets: Set<String>) throws {
        let manifest = try PackageManifest.current()
        let files = try Self.files()
        now = Dictionary(
            uniqueKeysWithValues: targets.map { target in
                (target, Self.digest(of: target, manifest, files))
            })
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        passed = Dictionary(
            text.split(separator: "\n").compactMap { line in
                let cells = line.split(separator: "\t").map(String.init)
                return cells.count == 2 ? (cells[0], cells[1]) : nil
            }, uniquingKeysWith: { $1 })
        self.path = path
    }

    /// The targets that passed with exactly the present files.
    var unchanged: Set<String> { Set(now.keys.filter { passed[$0] == now[$0] }) }

    /// Records the outcome of targets whose tests all ran.
    mutating func record(_ outcome: [String: Bool]) throws {
        for (target, isPassed) in outcome { passed[target] = isPassed ? now[target] : nil }
        let lines = passed.sorted { $0.key < $1.key }.map { "\($0.key)\t\($0.value)\n" }
        try lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Returns the digest of the files in the folders that a target depends on, of the manifest,
    /// and of the versions of the dependencies.
    static func digest(
        of target: String, _ manifest: PackageManifest, _ files: [(path: String, hash: String)]
    ) -> String {
        let folders = manifest.folders(of: target)
        // FNV-1a over the lines, which contain cryptographic hashes of the contents.
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for file in files.sorted(by: { $0.path < $1.path })
        where readWholeTree.contains(target)
            || ["Package.swift", "Package.resolved"].contains(file.path)
            || folders.contains(where: { file.path.hasPrefix($0 + "/") })
        {
            for byte in "\(file.path) \(file.hash)\n".utf8 {
                digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
            }
        }
        return String(digest, radix: 16)
    }

    /// Returns every file of the package with the hash of its contents.
    private static func files() throws -> [(path: String, hash: String)] {
        let find = "find \(top.joined(separator: " ")) -name '.build*' -prune -o -type f "
        let child = try ChildProcess.start(
            "/bin/sh", ["-c", find + "-exec sha256sum {} +"], output: .pipe)
        let text = String(decoding: try child.readAll(), as: UTF8.self)
        child.wait()
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            return (parts[1].drop { $0 == " " }.description, String(parts[0]))
        }
    }
}
