/// The rule that folders of a module refer to each other in one direction, which the module's page
/// shows.
///
/// References are found by name: a file that names a top-level type of another file of its module
/// refers to that file's folder. Names in comments and strings do not count.
enum FolderRules {
    /// A reference from one folder to another folder of the same module.
    struct Arrow: Hashable, Comparable {
        var from: String
        var to: String

        var reversed: Arrow { Arrow(from: to, to: from) }

        static func < (one: Arrow, other: Arrow) -> Bool {
            (one.from, one.to) < (other.from, other.to)
        }
    }

    // MARK: References

    /// Returns the arrows between folders of one module, each with one of its references.
    static func arrows(_ files: [SourceFile]) -> [Arrow: String] {
        var found: [Arrow: String] = [:]
        let modules = Dictionary(grouping: files.filter { !$0.isTest }) { module(of: $0) }
        for files in modules.values {
            var folders: [String: String] = [:]
            for file in files {
                for type in file.code.compactMap(declaredType) { folders[type] = folder(of: file) }
            }
            for file in files {
                let from = folder(of: file)
                for name in names(in: file.code) {
                    guard let to = folders[name], to != from else { continue }
                    let arrow = Arrow(from: from, to: to)
                    let reference = "\(file.path.dropFirst(from.count + 1)) names \(name)"
                    // The first one, so that the message does not depend on hashing.
                    found[arrow] = min(found[arrow] ?? reference, reference)
                }
            }
        }
        return found
    }

    /// Returns the top-level type that a line declares, or nil if it declares none.
    static func declaredType(_ line: String) -> String? {
        guard let first = line.utf8.first, first != UInt8(ascii: " ") else { return nil }
        var words = line.split(separator: " ")[...]
        while let word = words.first, word.hasPrefix("@") || modifiers.contains(word) {
            words.removeFirst()
        }
        guard let kind = words.popFirst(), kinds.contains(kind), let rest = words.first else {
            return nil
        }
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        return name.first?.isUppercase == true ? String(name) : nil
    }

    private static let modifiers: Set<Substring> = [
        "public", "open", "package", "internal", "fileprivate", "private", "final", "indirect",
        "nonisolated",
    ]

    private static let kinds: Set<Substring> = ["class", "struct", "enum", "actor", "protocol"]

    /// Returns the names in code that begin with a capital letter.
    private static func names(in code: [String]) -> Set<String> {
        var names: Set<String> = []
        for line in code {
            for word in Array(line.utf8).split(whereSeparator: { !isPartOfName($0) }) {
                guard word.count > 1, let first = word.first, capitals.contains(first) else {
                    continue
                }
                names.insert(String(decoding: word, as: UTF8.self))
            }
        }
        return names
    }

    private static let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")

    static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            capitals, UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    private static func module(of file: SourceFile) -> String {
        file.path.split(separator: "/").prefix(2).joined(separator: "/")
    }

    private static func folder(of file: SourceFile) -> String {
        file.path.split(separator: "/").dropLast().joined(separator: "/")
    }

    // MARK: Rules

    /// Returns a finding for each pair of folders that refer to each other.
    static func pairs(_ arrows: [Arrow: String]) -> [Finding] {
        arrows.sorted { $0.key < $1.key }.compactMap { arrow, reference -> Finding? in
            guard arrow.from < arrow.to, let back = arrows[arrow.reversed] else { return nil }
            return Finding(
                path: arrow.from,
                message: "\(reference) in \(arrow.to), where \(back) in \(arrow.from)")
        }
    }

    /// Returns a finding for each folder that its module's page omits, and for each listed one
    /// without files.
    static func unlisted(_ files: [SourceFile], pages: [SourceFile]) -> [Finding] {
        modules(pages).flatMap { module, page -> [Finding] in
            let all = Set(
                files.filter { $0.path.hasPrefix(module + "/") }.map { folder(of: $0) })
            // A module without subfolders has no list.
            let folders = all == [module] ? [] : all
            let listed = listedFolders(page, of: module)
            let missing = folders.subtracting(listed).sorted().map {
                Finding(path: page.path, message: "does not list the folder \($0)")
            }
            let gone = Set(listed).subtracting(folders).sorted().map {
                Finding(path: page.path, message: "lists \($0), which has no files")
            }
            return missing + gone
        }
    }

    /// Returns a finding for each reference to a folder that the page lists above.
    static func upward(_ arrows: [Arrow: String], pages: [SourceFile]) -> [Finding] {
        modules(pages).flatMap { module, page -> [Finding] in
            let listed = listedFolders(page, of: module)
            return arrows.sorted { $0.key < $1.key }.compactMap { arrow, reference -> Finding? in
                guard let from = listed.firstIndex(of: arrow.from),
                    let to = listed.firstIndex(of: arrow.to), to < from
                else { return nil }
                return Finding(
                    path: arrow.from,
                    message: "\(reference) in \(arrow.to), which \(page.path) lists above")
            }
        }
    }

    /// Returns the modules that have a page, each with its page.
    private static func modules(_ pages: [SourceFile]) -> [(String, SourceFile)] {
        Layout.targets.filter(\.hasFrontPage).compactMap { target -> (String, SourceFile)? in
            let path = "\(target.folder)/\(target.name)"
            let page = pages.first {
                $0.path.hasPrefix(path + "/") && $0.text.hasPrefix("# ``\(target.name)``\n")
            }
            return page.map { (path, $0) }
        }
    }

    /// Returns the folders in the table of a page's section *Folders*, in their order.
    ///
    /// The module's name denotes the module's own folder.
    private static func listedFolders(_ page: SourceFile, of module: String) -> [String] {
        var isInSection = false
        var folders: [String] = []
        for line in page.lines {
            if line.hasPrefix("#") {
                isInSection = line == "### Folders"
            } else if isInSection, line.hasPrefix("| `"), let name = line.between("`", "/`") {
                folders.append(module.hasSuffix("/" + name) ? module : "\(module)/\(name)")
            }
        }
        return folders
    }
}
