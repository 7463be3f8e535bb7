/// The rules that replaced names are gone from declarations, files, folders and the names of tests.
enum GlossaryRules {
    /// A declared name.
    struct Declaration: Hashable {
        var line: Int
        /// The keyword, such as `func`.
        var kind: String
        var name: String
    }

    // MARK: Declarations

    private static let typeKinds: Set<String> = [
        "class", "struct", "enum", "actor", "protocol", "typealias", "associatedtype",
    ]
    private static let memberKinds: Set<String> = ["func", "var", "let", "case"]
    /// The first letters of all kinds: most words are not keywords, and reading their first letter
    /// is fast.
    private static let initials = ByteSet(
        String(typeKinds.union(memberKinds).compactMap(\.first)))

    /// Returns the names that a file declares, at any depth, local variables included.
    ///
    /// A name in backticks, such as that of a test, is one name.
    static func declarations(_ file: SourceFile) -> [Declaration] {
        file.code.enumerated().flatMap { index, line in
            line.contains(" ") ? declarations(Array(line.utf8), number: index + 1) : []
        }
    }

    private static func declarations(_ line: [UInt8], number: Int) -> [Declaration] {
        var found: [Declaration] = []
        var kind: String?
        var index = 0
        while index < line.count {
            let start = index
            let first = line[start]
            index += 1
            guard first != Ascii.space else { continue }
            let isQuoted = first == Ascii.backtick
            guard isQuoted || Ascii.isWord(first) else {
                kind = nil
                continue
            }
            while index < line.count
                && (isQuoted ? line[index] != Ascii.backtick : Ascii.isWord(line[index]))
            {
                index += 1
            }
            let word = line[(isQuoted ? start + 1 : start)..<index]
            if isQuoted { index += 1 }
            if let declared = kind {
                let name = String(decoding: word, as: UTF8.self)
                // As in `case let x`, where no case is declared.
                let isPattern = declared == "case" && memberKinds.contains(name)
                kind = isPattern ? name : nil
                if !isPattern {
                    found.append(Declaration(line: number, kind: declared, name: name))
                }
            } else {
                kind =
                    isQuoted ? nil : Self.kind(word, before: index < line.count ? line[index] : 0)
            }
        }
        return found
    }

    /// Returns a word if it is a keyword that a name follows.
    private static func kind(_ word: ArraySlice<UInt8>, before next: UInt8) -> String? {
        guard next == Ascii.space, let first = word.first, initials.contains(first),
            (3...14).contains(word.count)
        else { return nil }
        let kind = String(decoding: word, as: UTF8.self)
        return typeKinds.contains(kind) || memberKinds.contains(kind) ? kind : nil
    }

    // MARK: Names

    /// The rows by the old name, as words in lower case.
    private static let rowsByName = Dictionary(grouping: Glossary.rows) { key(words(of: $0.old)) }

    /// Returns the words of a name in camel case, in lower case.
    static func words(of name: String) -> [String] {
        let bytes = Array(name.utf8)
        var words: [String] = []
        var start = 0
        for index in bytes.indices.dropFirst() {
            let isNext = index + 1 < bytes.count && Ascii.isLowercase(bytes[index + 1])
            let begins =
                Ascii.isCapital(bytes[index]) && (!Ascii.isCapital(bytes[index - 1]) || isNext)
            guard begins else { continue }
            words.append(String(decoding: bytes[start..<index], as: UTF8.self).lowercased())
            start = index
        }
        words.append(String(decoding: bytes[start...], as: UTF8.self).lowercased())
        return words
    }

    private static func key(_ words: some Sequence<String>) -> String {
        words.joined(separator: " ")
    }

    /// Returns the row whose old name is the given name or, if the old name has several words,
    /// occurs as words within it.
    ///
    /// A name that contains the new name is not found, although the new name may contain the old
    /// one.
    static func row(_ name: String, in path: String) -> Glossary.Row? {
        let words = words(of: name)
        for start in words.indices {
            for end in start..<min(start + 4, words.count) {
                guard let rows = rowsByName[key(words[start...end])] else { continue }
                let row = rows.first {
                    let isOld = start == end ? name == $0.old || name == $0.old + "Tests" : true
                    return isOld && path.hasPrefix($0.scope) && !has(words, $0.new)
                }
                if let row { return row }
            }
        }
        return nil
    }

    private static func has(_ words: [String], _ name: String) -> Bool {
        " \(key(words)) ".contains(" \(key(Self.words(of: name))) ")
    }

    // MARK: Rules

    /// Returns a finding for each declaration with an old name, except the excused ones.
    ///
    /// `remaining` has entries like `Sources/A.swift: name`, `exceptions` has names. A remaining
    /// name that the file no longer declares is a finding too.
    static func declared(
        _ files: [(file: SourceFile, declarations: [Declaration])], remaining: Set<String>,
        exceptions: [String: String]
    ) -> [Finding] {
        var left = remaining
        var findings: [Finding] = []
        for (file, declarations) in files {
            for declaration in declarations where exceptions[declaration.name] == nil {
                let names = declaration.name.split(separator: " ").map(String.init)
                let rows = names.compactMap { row($0, in: file.path) }
                guard let row = rows.first else { continue }
                let entry = "\(file.path): \(declaration.name)"
                left.remove(entry)
                guard !remaining.contains(entry) else { continue }
                findings.append(
                    Finding(
                        path: file.path, line: declaration.line,
                        message: "\(declaration.name): \(row.old) is now \(row.new)"))
            }
        }
        return findings + stale(left)
    }

    /// Returns a finding for each file or folder with an old name, except the remaining ones.
    static func named(_ paths: some Sequence<String>, remaining: Set<String>) -> [Finding] {
        var left = remaining
        var findings: [Finding] = []
        for path in paths.sorted() {
            let last = path.split(separator: "/").last ?? ""
            let pieces = (last.split(separator: ".").first ?? "").split(separator: "+")
            let renamed = pieces.map(String.init).compactMap { piece in
                Glossary.folders[piece].map { (piece, $0) }
                    ?? row(piece, in: path).map { ($0.old, $0.new) }
            }
            guard let (old, new) = renamed.first else { continue }
            left.remove(path)
            guard !remaining.contains(path) else { continue }
            findings.append(Finding(path: path, message: "\(old) is now \(new)"))
        }
        return findings + stale(left)
    }

    private static func stale(_ entries: Set<String>) -> [Finding] {
        entries.sorted().map {
            Finding(path: $0, message: "was renamed; remove it from the remaining names")
        }
    }

    /// Returns a finding for each verb with more functions than allowed.
    static func verbs(
        _ files: [(file: SourceFile, declarations: [Declaration])], limits: [String: Int]
    ) -> [Finding] {
        var counts: [String: Int] = [:]
        for declaration in files.lazy.flatMap(\.declarations) where declaration.kind == "func" {
            if limits[declaration.name] != nil { counts[declaration.name, default: 0] += 1 }
        }
        return limits.sorted { $0.key < $1.key }.compactMap { verb, limit in
            guard let count = counts[verb], count > limit else { return nil }
            return Finding(
                path: "the sources",
                message: "\(count) functions are named \(verb), more than \(limit)")
        }
    }
}
