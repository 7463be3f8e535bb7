import TandemDaemon
import TandemIO
import Yams

/// A YAML configuration file: nested mappings whose keys, joined by dots, are setting names.
enum ConfigurationFile {
    /// The error for a file that can't be read or is not a valid configuration.
    struct Unreadable: Error {
        var message: String
    }

    /// The maximum size of a file in bytes; a typical configuration takes a few kilobytes.
    private static let maximumBytes: UInt64 = 1 << 20

    /// Returns the settings of a file, or nil if the file does not exist.
    static func read(_ path: String) throws(Unreadable) -> [GivenSetting]? {
        let files = RealFileSystem()
        guard files.exists(path) else { return nil }
        do {
            let bytes = try files.contents(of: path, maximumBytes: maximumBytes)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Unreadable(message: "\(path) is not UTF-8")
            }
            return try settings(in: text, path)
        } catch let error as Unreadable {
            throw error
        } catch let error as YamlError {
            throw Unreadable(message: "\(path): \(summary(of: error))")
        } catch {
            throw Unreadable(message: "\(error)")
        }
    }

    private static func settings(in text: String, _ path: String) throws -> [GivenSetting] {
        guard let root = try Yams.compose(yaml: text), !isNull(root) else { return [] }
        guard let mapping = root.mapping else {
            throw Unreadable(message: "\(path): expected keys with values, such as `limits:`")
        }
        var found: [GivenSetting] = []
        try collect(mapping, below: "", path, &found)
        return found
    }

    private static func collect(
        _ mapping: Node.Mapping, below prefix: String, _ path: String,
        _ found: inout [GivenSetting]
    ) throws {
        for (key, value) in mapping {
            let origin = "\(path):\((key.mark ?? value.mark)?.line ?? 1)"
            guard let name = key.scalar?.string else {
                throw Unreadable(message: "\(origin): a key must be a word")
            }
            if let inner = value.mapping {
                try collect(inner, below: prefix + name + ".", path, &found)
            } else {
                let values = try values(value, origin)
                found.append(GivenSetting(prefix + name, values, from: origin))
            }
        }
    }

    private static func values(_ node: Node, _ origin: String) throws -> [String] {
        if isNull(node) { return [] }
        if let scalar = node.scalar { return [scalar.string] }
        return try (node.sequence.map(Array.init) ?? [node]).map { item in
            guard let scalar = item.scalar, !isNull(item) else {
                throw Unreadable(
                    message: "\(origin): each item of a list must be a single word or number")
            }
            return scalar.string
        }
    }

    private static func isNull(_ node: Node) -> Bool { node.null != nil }

    private static func summary(of error: YamlError) -> String {
        "\(error)".split(separator: "\n").joined(separator: " ")
    }
}
