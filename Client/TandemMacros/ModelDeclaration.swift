#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// A class with `@Model`, read from its syntax: the entity's name, parent, properties, indexes and
/// unique lists.
struct ModelDeclaration {
    /// The class that the macro is attached to.
    let syntax: ClassDeclSyntax
    /// The code for the entity's name.
    private(set) var entityName: String
    /// The superclass if it is a model class.
    private(set) var parent: ExprSyntax?
    /// The code for the entity's earlier name.
    private(set) var renamedFrom: ExprSyntax?
    private(set) var properties: [ModelProperty] = []
    /// The names of properties, by the macro that lists them: `Index` or `Unique`.
    private(set) var lists: [String: [[String]]] = [:]

    /// Reads a declaration; fails if it is not a class that can have an entity.
    init?(_ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ problems: inout Problems)
    {
        guard let syntax = declaration.as(ClassDeclSyntax.self) else {
            problems.report(
                "class", at: declaration.introducer,
                "`@Model` needs a class; write `final class … : ManagedObject`")
            return nil
        }
        let arguments = PropertyArguments(node, &problems)
        self.syntax = syntax
        entityName = arguments.name?.trimmedDescription ?? "\"\(syntax.name.plainText)\""
        renamedFrom = arguments.value("renamedFrom")
        guard hasSuperclass(&problems), readParent(node, arguments["parent"], &problems) else {
            return nil
        }
        readProperties(&problems)
        readLists(&problems)
    }

    // MARK: The class

    private func hasSuperclass(_ problems: inout Problems) -> Bool {
        if let generics = syntax.genericParameterClause {
            problems.report("generic", at: generics, "a class with an entity cannot be generic")
            return false
        }
        guard superclass == nil else { return true }
        problems.report(
            "superclass", at: syntax.name,
            "`\(syntax.name.text)` has no superclass; write `class \(syntax.name.text): ManagedObject`",
            fix: .replacing("inherit from `ManagedObject`", syntax, with: inheriting))
        return false
    }

    /// The class declared as a subclass of `ManagedObject`, without conformances that a subclass
    /// can't declare.
    private var inheriting: ClassDeclSyntax {
        let kept = (syntax.inheritanceClause?.inheritedTypes.map(\.type.trimmed) ?? [])
            .filter { !Self.declaredByObjects.contains($0.lastName) }
        let types = [TypeSyntax("ManagedObject")] + kept
        var new = syntax
        new.name.trailingTrivia = []
        new.inheritanceClause = InheritanceClauseSyntax(
            colon: .colonToken(trailingTrivia: .space),
            inheritedTypes: InheritedTypeListSyntax(
                types.enumerated().map { index, type in
                    let comma = TokenSyntax.commaToken(trailingTrivia: .space)
                    return InheritedTypeSyntax(
                        type: type, trailingComma: index < types.count - 1 ? comma : nil)
                }),
            trailingTrivia: syntax.inheritanceClause?.trailingTrivia ?? syntax.name.trailingTrivia)
        return new
    }

    /// The superclass that the declaration names, or nil if there is none.
    ///
    /// This is `ManagedObject` if it is in the inheritance clause. Otherwise it is the first type
    /// of the clause, unless that is a protocol to which such classes often conform.
    private var superclass: TypeSyntax? {
        let types = syntax.inheritanceClause?.inheritedTypes.map(\.type) ?? []
        if let object = types.first(where: { $0.lastName == "ManagedObject" }) { return object }
        return types.first.flatMap { Self.protocols.contains($0.lastName) ? nil : $0 }
    }

    private static let protocols = declaredByObjects.union([
        "Codable", "Comparable", "CustomStringConvertible", "ManagedEntity", "ObservableObject",
    ])

    /// The protocols to which `ManagedObject` conforms, or explicitly does not conform.
    private static let declaredByObjects: Set = [
        "CustomDebugStringConvertible", "Equatable", "Hashable", "Identifiable", "Observable",
        "Sendable",
    ]

    /// Reads the parent, which must be stated for any superclass other than `ManagedObject`.
    private mutating func readParent(
        _ node: AttributeSyntax, _ argument: ExprSyntax?, _ problems: inout Problems
    ) -> Bool {
        guard let superclass else { return false }
        let name = superclass.trimmedDescription
        guard let argument else {
            guard superclass.lastName != "ManagedObject" else { return true }
            problems.report(
                "parent", at: superclass,
                "`\(name)` is not `ManagedObject`; write `@Model(parent: \(name).self)` for a parent class, `@Model(parent: nil)` for a class without an entity, or `ManagedObject, \(name)` for a protocol",
                fix: .replacing(
                    "write `parent: \(name).self`", node,
                    with: Self.adding("parent: \(name).self", to: node)))
            return false
        }
        if argument.is(NilLiteralExprSyntax.self) { return true }
        let stated = argument.as(MemberAccessExprSyntax.self)?.base
        guard stated?.trimmedDescription == name else {
            problems.report(
                "parent", at: argument,
                "the parent is not the superclass `\(name)`; write `parent: \(name).self`")
            return false
        }
        parent = stated
        return true
    }

    /// Returns the attribute with an argument inserted after the entity's name.
    private static func adding(_ text: String, to node: AttributeSyntax) -> AttributeSyntax {
        var arguments =
            node.arguments?.as(LabeledExprListSyntax.self)?
            .map { $0.with(\.trailingComma, nil).trimmedDescription } ?? []
        let index = arguments.first?.hasPrefix("\"") == true ? 1 : 0
        arguments.insert(text, at: index)
        return AttributeSyntax("@Model(\(raw: arguments.joined(separator: ", ")))")
            .with(\.leadingTrivia, node.leadingTrivia)
            .with(\.trailingTrivia, node.trailingTrivia)
    }

    // MARK: Properties and lists

    private mutating func readProperties(_ problems: inout Problems) {
        var names: [String: TokenSyntax] = [:]
        for member in syntax.memberBlock.members {
            if let condition = member.decl.as(IfConfigDeclSyntax.self) {
                reportProperties(in: condition, &problems)
            }
            guard let variable = member.decl.as(VariableDeclSyntax.self),
                let property = ModelProperty.read(variable, &problems)
            else { continue }
            if let other = names[property.storedName] {
                problems.report(
                    "duplicate", at: property.name,
                    "`\(other.text)` and `\(property.name.text)` are both stored as `\(property.storedName)`; give one of them another name"
                )
                continue
            }
            names[property.storedName] = property.name
            properties.append(property)
        }
    }

    /// Reports stored properties inside `#if`, which the macro would miss.
    private func reportProperties(in condition: IfConfigDeclSyntax, _ problems: inout Problems) {
        for clause in condition.clauses {
            guard case .decls(let members)? = clause.elements else { continue }
            for variable in members.compactMap({ $0.decl.as(VariableDeclSyntax.self) }) {
                var ignored = Problems()
                guard StoredProperty(variable, &ignored) != nil else { continue }
                problems.report(
                    "condition", at: variable,
                    "an entity must be the same in every build; move the property out of `#if`")
            }
        }
    }

    private mutating func readLists(_ problems: inout Problems) {
        lists["Unique"] = properties.filter(\.isUnique).map { [$0.storedName] }
        lists["Index"] = properties.filter(\.isIndexed).map { [$0.storedName] }
        for macro in syntax.memberBlock.members.compactMap({
            $0.decl.as(MacroExpansionDeclSyntax.self)
        }) {
            let name = macro.macroName.plainText
            guard lists[name] != nil else { continue }
            checkRoot(macro, &problems)
            for argument in macro.arguments {
                let list = readList(argument.expression, name, &problems)
                if !list.isEmpty { lists[name]?.append(list) }
            }
        }
    }

    /// Reports an error if the root type is not this class.
    private func checkRoot(_ macro: MacroExpansionDeclSyntax, _ problems: inout Problems) {
        guard let root = macro.genericArgumentClause?.arguments.first?.argument,
            root.trimmedDescription != syntax.name.text
        else { return }
        let new = IdentifierTypeSyntax(name: syntax.name.trimmed)
        problems.report(
            "root", at: root,
            "`#\(macro.macroName.text)<\(root.trimmed)>` is in the class `\(syntax.name.text)`; write `#\(macro.macroName.text)<\(syntax.name.text)>`",
            fix: .replacing("write `\(syntax.name.text)`", root, with: new))
    }

    /// Returns the stored names of the properties in a list of key paths.
    private func readList(
        _ list: ExprSyntax, _ macro: String, _ problems: inout Problems
    ) -> [String] {
        guard let elements = list.as(ArrayExprSyntax.self)?.elements, !elements.isEmpty else {
            problems.report(
                "list", at: list,
                "`#\(macro)` requires a list in brackets, such as `[\\.name, \\.zone]`")
            return []
        }
        return elements.compactMap { storedName($0.expression, macro, &problems) }
    }

    /// Returns the stored name of the property that a key path names.
    private func storedName(
        _ path: ExprSyntax, _ macro: String, _ problems: inout Problems
    ) -> String? {
        guard let name = path.as(KeyPathExprSyntax.self)?.onlyProperty else {
            problems.report(
                "path", at: path,
                "`#\(macro)` requires properties of `\(syntax.name.text)`, such as `\\.name`")
            return nil
        }
        guard let found = properties.first(where: { $0.name.plainText == name.plainText }) else {
            // The property may be inherited. Its stored name is unknown here, so the list is
            // correct only if that is the name of the Swift property.
            if parent != nil { return name.plainText }
            problems.report(
                "path", at: name,
                "`\(syntax.name.text)` has no stored property `\(name.text)` for `#\(macro)`")
            return nil
        }
        guard !found.isToMany else {
            problems.report(
                "path", at: name,
                "`\(name.text)` is a to-many relationship; `#\(macro)` lists attributes and to-one relationships"
            )
            return nil
        }
        return found.storedName
    }
}
#endif
