#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder

extension ModelDeclaration {
    /// The members that `@Model` adds: `entity`, and a function that compiles only if each
    /// inverse is a property of the other class.
    ///
    /// Whether that property is a relationship is checked when the model is applied.
    var members: [DeclSyntax] {
        let inverses = properties.compactMap(\.inverse)
        guard !inverses.isEmpty else { return [entityMember] }
        let lines = inverses.map { "    \($0)" }.joined(separator: "\n")
        return [
            entityMember,
            """
            private static func checkInverses() {
            \(raw: lines)
            }
            """,
        ]
    }

    private var entityMember: DeclSyntax {
        let lines = properties.map { "        \($0.code)" }
        let body = lines.isEmpty ? "" : " {\n\(lines.joined(separator: "\n"))\n    }"
        return """
            \(raw: modifiers)var entity: Entity {
                Entity(\(raw: entityArguments.joined(separator: ", ")))\(raw: body)
            }
            """
    }

    private var entityArguments: [String] {
        var arguments = [entityName]
        if let parent { arguments.append("parent: \(parent.trimmed).entity.name") }
        for (label, macro) in [("uniqueness", "Unique"), ("indexes", "Index")] {
            guard let lists = lists[macro], !lists.isEmpty else { continue }
            let texts = lists.map { list in
                "[\(list.map { "\"\($0)\"" }.joined(separator: ", "))]"
            }
            arguments.append("\(label): [\(texts.joined(separator: ", "))]")
        }
        if let renamedFrom { arguments.append("renamedFrom: \(renamedFrom.trimmed)") }
        return arguments
    }

    /// The modifiers of `entity`, each followed by a space.
    private var modifiers: String {
        let names = syntax.modifiers.map(\.name.text)
        let access = names.first { ["open", "public", "package"].contains($0) }
        let kind = names.contains("final") && parent == nil ? "static" : "class"
        let words = [access, parent == nil ? nil : "override", kind].compactMap { $0 }
        return words.map { $0 + " " }.joined()
    }
}
#endif
