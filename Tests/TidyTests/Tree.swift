import FoundationEssentials
import Testing

/// A file of the tree: its path from the root, and its text.
struct SourceFile {
    let path: String
    let text: String
    /// The lines as they are.
    let lines: [String]
    /// The lines with comments and the insides of string literals blanked out.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        self.text = text
        let newline = UInt8(ascii: "\n")
        lines = Array(text.utf8).split(separator: newline, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        code = Code(text).lines
    }

    /// The target whose folder it lies in; nil outside of targets.
    var target: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : nil
    }

    /// Whether it belongs to a test target.
    var isTest: Bool { path.hasPrefix("Tests/") }
}

/// Something that is not as it should be.
struct Finding: Hashable, CustomStringConvertible {
    var path: String
    var line: Int?
    var message: String

    var description: String { path + (line.map { ":\($0)" } ?? "") + ": " + message }
}

/// The package as it lies on the disk.
enum Tree {
    /// The folder of `Package.swift`.
    static let root: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    /// What lies directly in a folder, dot-files left out, sorted.
    static func names(in folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The text of a file.
    static func text(_ path: String) throws -> String {
        let data = try #require(
            FileManager.default.contents(atPath: root + "/" + path), "\(path) is missing")
        return String(decoding: data, as: UTF8.self)
    }

    /// All sources, read once.
    static let sources = Result { try files(".swift") }

    /// All files of some folders whose names end in a suffix; build folders are left out.
    static func files(
        _ suffix: String, in folders: [String] = ["Sources", "Client", "Daemon", "Tests"]
    ) throws -> [SourceFile] {
        try folders.flatMap { folder -> [SourceFile] in
            try FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)
                .filter { $0.hasSuffix(suffix) && !$0.contains(".build") }.sorted()
                .map { SourceFile(path: "\(folder)/\($0)", text: try text("\(folder)/\($0)")) }
        }
    }
}
