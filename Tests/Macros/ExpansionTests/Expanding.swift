import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import TandemMacros
import Testing

/// The macros by name.
let specs: [String: MacroSpec] = [
    "Model": MacroSpec(type: ModelExpansion.self, conformances: ["ManagedEntity"]),
    "Attribute": MacroSpec(type: PropertyExpansion.self),
    "Relationship": MacroSpec(type: PropertyExpansion.self),
    "Transient": MacroSpec(type: PropertyExpansion.self),
    "Index": MacroSpec(type: PropertyListExpansion.self),
    "Unique": MacroSpec(type: PropertyListExpansion.self),
    "ContextActor": MacroSpec(type: ContextActorExpansion.self),
]

/// Expects that a source expands to another one without errors.
func expectExpansion(
    _ source: String, _ expanded: String, _ specs: [String: MacroSpec] = specs,
    _ location: Testing.SourceLocation = #_sourceLocation
) {
    assertMacroExpansion(
        source, expandedSource: expanded, macroSpecs: specs, indentationWidth: .spaces(4),
        failureHandler: { Issue.record(Comment(rawValue: $0.message), sourceLocation: location) })
}

/// Expects that the stored properties of a class `Team` expand to the properties of its entity.
func expectEntity(
    _ members: String, _ properties: String, _ location: Testing.SourceLocation = #_sourceLocation
) {
    let model = Expansion(
        "@Model\nfinal class Team: ManagedObject {\n\(members)\n}")
    #expect(model.errors == [], sourceLocation: location)
    #expect(model.properties == properties, sourceLocation: location)
}

/// Expects errors as `line:column: message`, and the source after the first fix of each.
///
/// No fix is expected if `fixed` is nil.
func expectErrors(
    _ source: String, _ errors: [String], fixed: String? = nil,
    _ location: Testing.SourceLocation = #_sourceLocation
) {
    let expansion = Expansion(source)
    #expect(expansion.errors == errors, sourceLocation: location)
    #expect(expansion.fixed == fixed, sourceLocation: location)
}

/// A source in which the macros were expanded.
struct Expansion {
    /// The source with the expansions.
    let text: String
    /// The errors in source order, each as `line:column: message`.
    let errors: [String]
    /// The source after the first fix of each error; nil if there is no fix.
    let fixed: String?

    init(_ source: String) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "App", fullFilePath: "App.swift")])
        let expanded = file.expand(
            macroSpecs: specs,
            contextGenerator: {
                BasicMacroExpansionContext(
                    sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
            }, indentationWidth: .spaces(4))
        text = expanded.description
        errors = context.diagnostics.map { diagnostic in
            let place = context.location(
                for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "App.swift")
            return "\(place.line):\(place.column): \(diagnostic.message)"
        }
        fixed = Self.fixed(source, context)
    }

    private static func fixed(_ source: String, _ context: BasicMacroExpansionContext) -> String? {
        let changes = context.diagnostics.compactMap(\.fixIts.first).flatMap(\.changes)
        guard !changes.isEmpty else { return nil }
        var bytes = Array(source.utf8)
        // From the last one to the first one, so that the positions of the others stay valid.
        let edits = changes.compactMap { change -> (Range<Int>, String)? in
            guard case .replace(let old, let new) = change else { return nil }
            let start = context.location(
                for: old.position, anchoredAt: old, fileName: "App.swift"
            ).offset
            return (start..<start + old.totalLength.utf8Length, new.description)
        }
        for (range, text) in edits.sorted(by: { $0.0.lowerBound > $1.0.lowerBound }) {
            bytes.replaceSubrange(range, with: Array(text.utf8))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The lines between the braces of the entity, without indentation.
    var properties: String {
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        guard let start = lines.firstIndex(where: { $0.hasPrefix("Entity(") && $0.hasSuffix("{") })
        else { return "" }
        return lines[(start + 1)...].prefix { $0 != "}" }.joined(separator: "\n")
    }

    /// The line that begins the entity, without indentation and brace.
    var entity: String {
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        let line = lines.first { $0.hasPrefix("Entity(") } ?? ""
        return line.hasSuffix(" {") ? String(line.dropLast(2)) : String(line)
    }
}
