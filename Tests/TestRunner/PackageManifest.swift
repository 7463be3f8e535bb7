import Foundation
import TandemIO

/// The targets of a package with their folders and dependencies, as printed by
/// `swift package dump-package`.
struct PackageManifest: Decodable {
    struct Target: Decodable {
        let name: String
        let path: String?
        let dependencies: [LossyDependency]
    }

    /// A dependency on a target of the package; `name` is nil for other dependencies.
    struct LossyDependency: Decodable {
        let name: String?

        private enum Key: String, CodingKey { case byName, target }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            let key: Key = values.contains(.byName) ? .byName : .target
            guard values.contains(key) else {
                name = nil
                return
            }
            var list = try values.nestedUnkeyedContainer(forKey: key)
            name = try list.decode(String.self)
        }
    }

    let targets: [Target]

    /// Returns the folders of a target and of all its dependencies.
    func folders(of name: String) -> Set<String> {
        var (found, open): (Set<String>, [String]) = ([], [name])
        var seen: Set<String> = []
        while let next = open.popLast() {
            guard seen.insert(next).inserted, let target = targets.first(where: { $0.name == next })
            else { continue }
            if let path = target.path { found.insert(path) }
            open += target.dependencies.compactMap(\.name)
        }
        return found
    }

    /// Reads the manifest of the package in the current folder.
    static func current() throws -> PackageManifest {
        let child = try ChildProcess.start(
            "/usr/bin/env", ["swift", "package", "dump-package"], output: .pipe)
        let bytes = try child.readAll()
        child.wait()
        return try JSONDecoder().decode(PackageManifest.self, from: Data(bytes))
    }
}
