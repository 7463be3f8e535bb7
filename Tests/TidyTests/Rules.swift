import Glibc

/// The checks of single files; each returns its findings.
enum Rules {
    /// Checks that imports follow the design, and that only some targets import third-party
    /// packages and the kernel.
    static func imports(_ file: SourceFile) -> [Finding] {
        guard !file.isTest, let target = Layout.target(file.target) else { return [] }
        let allowed = Layout.reachable(from: target)
        let ours = Set(Layout.targets.map(\.name))
        let platform: Set<String> = [
            "Swift", "Synchronization", "Observation", "FoundationEssentials",
        ]
        return each(file) { line in
            guard let module = module(line) else { return nil }
            if ours.contains(module) {
                return allowed.contains(module) || module == target.name
                    ? nil : "\(target.name) may not import \(module)"
            }
            if module == "Glibc" {
                return target.mayUseKernel ? nil : "only TandemIO may import the kernel's interface"
            }
            if platform.contains(module) || Layout.valuePackages.contains(module) || target.isEdge {
                return nil
            }
            return module == "Dispatch" && target.name == "TandemEmbedded"
                ? nil : "\(module) may only be imported by programs"
        }
    }

    /// Returns the module that a line imports, or nil if it imports none.
    static func module(_ line: String) -> String? {
        guard line.withCString({ strstr($0, "import ") != nil }) else { return nil }
        var words = line.split(separator: " ")[...]
        while let word = words.first, word.hasPrefix("@") || access.contains(word) {
            words.removeFirst()
        }
        guard words.popFirst() == "import" else { return nil }
        if let word = words.first, kinds.contains(word) { words.removeFirst() }
        guard let name = words.first else { return nil }
        return name.split(separator: ".").first.map(String.init)
    }

    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "protocol", "func", "var", "let", "typealias",
    ]

    private static let access: Set<Substring> = [
        "public", "package", "internal", "fileprivate", "private",
    ]

    /// Checks that there are no forced tries, and no reminders in code or comments.
    static func leftovers(_ file: SourceFile) -> [Finding] {
        let words = ["FIX" + "ME", "TO" + "DO", "XX" + "X", "HA" + "CK"]
        let suspects = words.contains { file.mentions($0) } ? file.lines : []
        let reminders = suspects.enumerated().compactMap { index, line in
            words.first { contains(line, word: $0) }.map {
                Finding(path: file.path, line: index + 1, message: "\($0) left over")
            }
        }
        guard file.mentions("try" + "!") else { return reminders }
        return reminders + each(file) { $0.contains("try" + "!") ? "a forced try" : nil }
    }

    /// Checks that each unchecked claim to the compiler is explained by a comment above or beside
    /// it.
    static func guards(_ file: SourceFile) -> [Finding] {
        let lines = file.lines
        let claims = ["@unchecked Sendable", "nonisolated(unsafe)", "@preconcurrency"]
        guard claims.contains(where: { file.mentions($0) }) else { return [] }
        return file.code.enumerated().compactMap { index, code in
            guard let claim = claims.first(where: code.contains) else { return nil }
            let above = index > 0 ? lines[index - 1].drop { $0 == " " } : ""
            guard !above.hasPrefix("//") && !lines[index].contains("// ") else { return nil }
            return Finding(
                path: file.path, line: index + 1, message: "\(claim) needs a comment on its guard"
            )
        }
    }

    /// Checks that references are counted except for callbacks of C, and that overlapping accesses
    /// are checked in all files except `ObjectRecord.swift`.
    static func unsafeAccess(_ file: SourceFile) -> [Finding] {
        guard file.mentions("Unmanaged", "@exclusivity(unchecked)"),
            !file.path.hasPrefix("Tests/")
        else { return [] }
        let isExempt = file.path == "Client/Tandem/Context/ObjectRecord.swift"
        // These pass an object to a callback of C.
        let passesReference = [
            "Sources/TandemIO/Kernel/KernelThread.swift",
            "Sources/TandemStore/LMDB/LMDBEnvironment+Maintenance.swift",
        ].contains(file.path)
        return each(file) { line in
            if !passesReference, contains(line, word: "Unmanaged") {
                return "an uncounted reference"
            }
            return !isExempt && line.contains("@exclusivity(unchecked)")
                ? "overlapping accesses are not checked" : nil
        }
    }

    /// Checks that a weak context is bound to a constant before one of its parts is called.
    ///
    /// A part does not retain its context: in `context?.graph.sweep()`, the context could be
    /// released as soon as its part is found. A parent is retained by its children.
    static func unretainedParts(_ file: SourceFile) -> [Finding] {
        guard file.path.hasPrefix("Client/Tandem/"), file.mentions("ontext?.") else { return [] }
        let parts = ["loader", "failures", "editor", "reporter", "listUpdater", "saving", "graph"]
        return each(file) { line in
            parts.contains { part in
                line.ranges(of: "ontext?.\(part).").contains { range in
                    // Shared objects that need no context.
                    let rest = line[range.upperBound...]
                    return !rest.hasPrefix("propertyCache") && !rest.hasPrefix("observed")
                }
            } ? "calls a part of a context that is not retained; bind the context first" : nil
        }
    }

    /// Checks that libraries don't print.
    static func printing(_ file: SourceFile) -> [Finding] {
        guard !file.isTest, let target = Layout.target(file.target), !target.isEdge,
            file.mentions("rint(")
        else { return [] }
        return each(file) { line in
            calls(line, "print") || calls(line, "debugPrint") ? "a library prints" : nil
        }
    }

    /// Checks that tests wait for positions and events, not for time to pass; benchmarks may sleep.
    static func sleeps(_ file: SourceFile) -> [Finding] {
        guard file.isTest, !file.path.hasPrefix("Tests/Benchmarks/"), file.mentions("sleep") else {
            return []
        }
        return each(file) { line in
            ["sleep", "usleep", "nanosleep"].contains {
                calls(line, $0) || line.contains("Task.sleep")
            }
                ? "a test sleeps" : nil
        }
    }

    /// Checks that the seeds of random tests are printed and can be set; fuzz targets get their
    /// bytes instead.
    static func seeds(_ file: SourceFile) -> [Finding] {
        let exempt = ["Tests/Benchmarks/", "Tests/Fuzz"]
        let generators = ["SplitMix64(", "RandomValue(", "SystemRandomNumberGenerator("]
        guard file.isTest, !exempt.contains(where: file.path.hasPrefix),
            generators.contains(where: { file.mentions($0) })
        else { return [] }
        return each(file) { line in
            generators.contains { generator in
                line.ranges(of: generator).contains { range in
                    var argument = line[range.upperBound...]
                    if argument.hasPrefix("seed: ") { argument = argument.dropFirst(6) }
                    return argument.first.map { $0.isNumber || $0 == ")" } ?? false
                }
            } ? "a generator whose seed cannot be set" : nil
        }
    }

    /// Returns whether a line calls a free function, not a method or a declaration of that name.
    private static func calls(_ line: String, _ name: String) -> Bool {
        var rest = line[...]
        while let range = rest.firstRange(of: name + "(") {
            let before = rest[..<range.lowerBound]
            let last = before.last
            let isOther = last.map { $0.isLetter || $0.isNumber || "._".contains($0) } ?? false
            if !isOther && !before.hasSuffix("func ") { return true }
            rest = rest[range.upperBound...]
        }
        return false
    }

    private static func contains(_ line: String, word: String) -> Bool {
        line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == word }
    }

    private static func each(_ file: SourceFile, _ rule: (String) -> String?) -> [Finding] {
        file.code.enumerated().compactMap { index, line in
            rule(line).map { Finding(path: file.path, line: index + 1, message: $0) }
        }
    }
}
