import FoundationEssentials
import Glibc
import Testing

/// The memory and descriptors of a running process.
struct ProcessSize: Hashable {
    /// Resident anonymous bytes, without mapped files.
    var bytes: Int
    var descriptors: Int

    init(_ process: pid_t) throws {
        let folder = "/proc/\(process)"
        let status = try #require(FileManager.default.contents(atPath: folder + "/status"))
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("RssAnon:") }
        bytes = try #require(line.flatMap { Int($0.filter(\.isNumber)) }) << 10
        descriptors = try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").count
    }
}
