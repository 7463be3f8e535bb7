#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// A stored property that belongs to the entity of its class.
struct ModelProperty {
    /// The name of the Swift property.
    let name: TokenSyntax
    /// The name of the attribute or relationship.
    let storedName: String
    /// The expression that creates the attribute or relationship.
    let code: String
    /// Whether the declaration has an initial value.
    let hasInitialValue: Bool
    /// Whether the property is a to-many relationship.
    var isToMany = false
    /// Whether the attribute has the option `unique`.
    var isUnique = false
    /// Whether the attribute has the option `indexed`.
    var isIndexed = false
    /// The declaration that compiles only if the inverse is a property of the other class; nil for
    /// an attribute.
    var inverse: String?

    /// The `@Managed` attribute that `@Model` adds to the property.
    var wrapper: AttributeSyntax {
        "@Managed(\(raw: hasInitialValue ? "declaring: " : "")\(literal: storedName))"
    }

    /// Reads a declaration.
    ///
    /// Returns nil if the declaration adds nothing to an entity, or if a problem was reported.
    static func read(
        _ variable: VariableDeclSyntax, _ problems: inout Problems
    ) -> ModelProperty? {
        guard let stored = StoredProperty(variable, &problems) else { return nil }
        return stored.relationship != nil
            ? relationship(stored, &problems) : attribute(stored, &problems)
    }

    // MARK: Attributes

    private static func attribute(
        _ stored: StoredProperty, _ problems: inout Problems
    ) -> ModelProperty? {
        let arguments = PropertyArguments(stored.attribute, &problems)
        let storedName = arguments.name?.representedLiteralValue ?? stored.name.plainText
        guard let type = attributeType(stored, &problems) else { return nil }
        var list = ["\"\(storedName)\"", type.code]
        if !type.isOptional { list.append("optional: false") }
        if let value = stored.initialValue, !value.isNil {
            guard !value.isDynamic(type.builtIn) else {
                problems.report(
                    "default", at: value.expression,
                    "the default of an attribute must be a constant; set `\(stored.name.text)` after each insert instead"
                )
                return nil
            }
            let code = value.code(type.type, type.builtIn, isOptional: type.isOptional)
            list.append("default: \(code)")
        }
        list += arguments.code()
        return ModelProperty(
            name: stored.name, storedName: storedName,
            code: "Attribute(\(list.joined(separator: ", ")))",
            hasInitialValue: stored.initialValue != nil,
            isUnique: arguments.options.contains("unique"),
            isIndexed: arguments.options.contains("indexed"))
    }

    /// The type of an attribute: its syntax without `?`, and the code of its attribute type.
    private struct AttributeCode {
        let type: TypeSyntax
        /// The name of the attribute type; nil if the Swift type is not built in.
        let builtIn: String?
        let isOptional: Bool

        var code: String { builtIn.map { ".\($0)" } ?? "AttributeType(of: \(type.trimmed).self)" }
    }

    private static func attributeType(
        _ stored: StoredProperty, _ problems: inout Problems
    ) -> AttributeCode? {
        switch PropertyType(stored.type) {
        case .named(let type, let isOptional):
            return AttributeCode(type: type, builtIn: nil, isOptional: isOptional)
        case .builtIn(_, "url", isOptional: false):
            problems.report(
                "type", at: stored.type,
                "an attribute of type `URL` must be optional; write `URL?`",
                fix: stored.replacingType(with: "\(stored.type.trimmed)?"))
        case .builtIn(let type, let attributeType, let isOptional):
            return AttributeCode(type: type, builtIn: attributeType, isOptional: isOptional)
        case .members(let element, _):
            problems.report(
                "relationship", at: stored.type,
                "`\(stored.name.text)` refers to several `\(element.trimmed)`; write `@Relationship(inverse: \\.…)` before the property, with the name of the inverse",
                fix: stored.addingRelationship)
        case .values:
            problems.reportValues(of: stored)
        case .unsupported(let alternative):
            problems.reportType(of: stored, alternative: alternative)
        }
        return nil
    }

    // MARK: Relationships

    private static func relationship(
        _ stored: StoredProperty, _ problems: inout Problems
    ) -> ModelProperty? {
        let arguments = PropertyArguments(stored.relationship)
        if let name = arguments.unlabelled.first {
            // If the inverse is missing as well, the fix-it that adds it also removes the name.
            problems.report(
                "name", at: name,
                "a relationship has the name of its Swift property; remove the argument `\(name.trimmed)`",
                fix: arguments["inverse"].flatMap { _ in stored.removingName })
        }
        let type = relationshipType(stored, &problems)
        let inverse = inverse(stored, arguments, &problems)
        if let value = stored.initialValue, !value.isEmpty {
            problems.report(
                "default", at: value.expression,
                "a relationship cannot have a default value; remove the initial value")
        }
        guard let type, let inverse else { return nil }
        let name = stored.name.plainText
        let destination =
            arguments["to"]?.trimmedDescription ?? "\"\(type.destination.lastName)\""
        var list = ["\"\(name)\"", "to: \(destination)", "inverse: \"\(inverse)\""]
        if type.isToMany { list.append("toMany: true") }
        if type.isOrdered { list.append("ordered: true") }
        list += arguments.code(without: ["to", "inverse"])
        return ModelProperty(
            name: stored.name, storedName: name,
            code: "Relationship(\(list.joined(separator: ", ")))",
            hasInitialValue: stored.initialValue != nil, isToMany: type.isToMany,
            inverse: "let _: PartialKeyPath<\(type.destination.trimmed)> = \\.\(inverse)")
    }

    private static func relationshipType(
        _ stored: StoredProperty, _ problems: inout Problems
    ) -> (destination: TypeSyntax, isToMany: Bool, isOrdered: Bool)? {
        switch PropertyType(stored.type, ofRelationship: true) {
        case .named(let type, isOptional: true): return (type, false, false)
        case .members(let element, let isOrdered): return (element, true, isOrdered)
        case .named(let type, isOptional: false):
            problems.report(
                "type", at: stored.type,
                "a to-one relationship must be optional; write `\(type.trimmed)?`",
                fix: stored.replacingType(with: "\(type.trimmed)?"))
        case .values:
            problems.reportValues(of: stored)
        case .unsupported(let alternative?):
            problems.reportType(of: stored, alternative: alternative)
        case .builtIn, .unsupported:
            problems.report(
                "type", at: stored.type,
                "`\(stored.type.trimmed)` cannot be the type of a relationship; write `X?`, `Set<X>` or `[X]` for a model class `X`"
            )
        }
        return nil
    }

    /// Returns the name of the inverse.
    private static func inverse(
        _ stored: StoredProperty, _ arguments: PropertyArguments, _ problems: inout Problems
    ) -> String? {
        guard let inverse = arguments["inverse"], let relationship = stored.relationship else {
            problems.report(
                "inverse", at: stored.relationship ?? AttributeSyntax("Relationship"),
                "`\(stored.name.text)` has no inverse; write `@Relationship(inverse: \\.…)` with the name of the inverse",
                fix: stored.addingInverse)
            return nil
        }
        guard let name = inverse.keyPathProperty else {
            problems.report(
                "inverse", at: inverse,
                "the inverse must be a single property after `\\.`, as in `@\(relationship.plainName)(inverse: \\.team)`"
            )
            return nil
        }
        return name.plainText
    }
}

extension Problems {
    /// Reports a type that a property of an entity can't have.
    mutating func reportType(of stored: StoredProperty, alternative: String?) {
        let name = stored.type.trimmedDescription
        let kind = stored.relationship == nil ? "an attribute" : "a relationship"
        guard let alternative else {
            report(
                "type", at: stored.type,
                "`\(name)` cannot be the type of \(kind); write `@Transient` before the property to leave it out"
            )
            return
        }
        report(
            "type", at: stored.type,
            "`\(name)` cannot be the type of \(kind); write `\(alternative)`",
            fix: stored.replacingType(with: alternative))
    }

    /// Reports a collection of values.
    mutating func reportValues(of stored: StoredProperty) {
        report(
            "type", at: stored.type,
            "`\(stored.type.trimmed)` cannot be the type of an attribute or a relationship; wrap it in a struct that conforms to `CodableAttribute`"
        )
    }
}

extension ExprSyntax {
    /// The property named by a key path with one component and no root, such as `\.team`.
    var keyPathProperty: TokenSyntax? {
        guard let path = self.as(KeyPathExprSyntax.self), path.root == nil else { return nil }
        return path.onlyProperty
    }
}

extension KeyPathExprSyntax {
    /// The property named by a key path with one component.
    var onlyProperty: TokenSyntax? {
        guard components.count == 1,
            case .property(let property)? = components.first?.component
        else { return nil }
        return property.declName.baseName
    }
}

extension TypeSyntax {
    /// The last component of the name, without attributes such as `@unchecked`.
    var lastName: String {
        if let attributed = self.as(AttributedTypeSyntax.self) {
            return attributed.baseType.lastName
        }
        return self.as(MemberTypeSyntax.self)?.name.plainText
            ?? self.as(IdentifierTypeSyntax.self)?.name.plainText ?? trimmedDescription
    }
}
#endif
