#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The declaration of one stored property, before its type is examined.
struct StoredProperty {
    let name: TokenSyntax
    let type: TypeSyntax
    let initialValue: DefaultValue?
    /// The property's `@Attribute`, if there is one.
    let attribute: AttributeSyntax?
    /// The property's `@Relationship`, if there is one.
    let relationship: AttributeSyntax?
    private let variable: VariableDeclSyntax

    /// Reads a declaration.
    ///
    /// Fails for a computed, static or transient property, and if a problem was reported.
    init?(_ variable: VariableDeclSyntax, _ problems: inout Problems) {
        attribute = variable.attributes.first(named: "Attribute")
        relationship = variable.attributes.first(named: "Relationship")
        self.variable = variable
        guard Self.isStored(variable, annotation: relationship ?? attribute, &problems),
            Self.isSupported(variable, &problems),
            let binding = Self.binding(variable, &problems)
        else { return nil }
        if let attribute, relationship != nil {
            problems.report(
                "annotation", at: attribute,
                "a property cannot be both an attribute and a relationship; remove `@Attribute`")
            return nil
        }
        (name, type) = (binding.name, binding.type)
        initialValue = binding.syntax.initializer.map { DefaultValue(expression: $0.value) }
    }

    // MARK: Checks

    /// Returns whether a declaration declares a stored property that belongs to the entity.
    ///
    /// Reports an error if any other property is annotated.
    private static func isStored(
        _ variable: VariableDeclSyntax, annotation: AttributeSyntax?, _ problems: inout Problems
    ) -> Bool {
        let kind: String
        if variable.attributes.first(named: "Transient") != nil {
            kind = "transient"
        } else if variable.modifiers.contains(where: {
            $0.name.text == "static" || $0.name.text == "class"
        }) {
            kind = "static"
        } else if variable.bindings.contains(where: \.isComputed) {
            kind = "computed"
        } else {
            return true
        }
        if let annotation {
            problems.report(
                "annotation", at: annotation,
                "a \(kind) property does not belong to the entity; remove `@\(annotation.plainName)`"
            )
        }
        return false
    }

    /// Returns whether an entity supports this kind of declaration; reports an error otherwise.
    private static func isSupported(
        _ variable: VariableDeclSyntax, _ problems: inout Problems
    ) -> Bool {
        if variable.bindingSpecifier.text == "let" {
            let new = variable.bindingSpecifier.with(\.tokenKind, .keyword(.var))
            problems.report(
                "let", at: variable.bindingSpecifier,
                "a property of an entity must be a `var`; write `@Transient` before a constant",
                fix: .replacing("write `var`", variable.bindingSpecifier, with: new))
            return false
        }
        let kinds = ["lazy", "weak", "unowned"]
        for modifier in variable.modifiers where kinds.contains(modifier.name.text) {
            problems.report(
                "modifier", at: modifier,
                "a property of an entity cannot be `\(modifier.name.text)`; write `@Transient` before the property to leave it out"
            )
            return false
        }
        if let managed = variable.attributes.first(named: "Managed") {
            problems.report(
                "annotation", at: managed, "`@Model` adds `@Managed`; remove it from the property")
            return false
        }
        return true
    }

    /// Returns the only binding of the declaration, with its name and type.
    private static func binding(
        _ variable: VariableDeclSyntax, _ problems: inout Problems
    ) -> (syntax: PatternBindingSyntax, name: TokenSyntax, type: TypeSyntax)? {
        guard let binding = variable.bindings.first, variable.bindings.count == 1,
            let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier
        else {
            problems.report(
                "binding", at: variable.bindings,
                "each property of an entity needs its own declaration; split this declaration")
            return nil
        }
        guard let type = binding.typeAnnotation?.type else {
            let value = binding.initializer.map { DefaultValue(expression: $0.value) }
            let known = value?.literalType
            problems.report(
                "annotation", at: binding.pattern,
                "`\(name.text)` has no type; write `var \(name.text): \(known ?? "…")`",
                fix: known.map { .replacing("write the type", binding, with: binding.typed($0)) })
            return nil
        }
        return (binding, name, type)
    }

    // MARK: Fixes

    /// Returns a fix-it that replaces the type.
    func replacingType(with text: String) -> FixIt {
        let new = TypeSyntax("\(raw: text)").with(\.leadingTrivia, type.leadingTrivia)
            .with(\.trailingTrivia, type.trailingTrivia)
        return .replacing("write `\(text)`", type, with: new)
    }

    /// A fix-it that inserts `@Relationship` before the property.
    var addingRelationship: FixIt {
        let added = AttributeSyntax("@Relationship(inverse: \\.<#inverse#>)")
            .with(\.trailingTrivia, .space)
        var new = variable
        if let attribute {
            new.attributes = variable.attributes.filter { $0 != .attribute(attribute) }
        }
        let trivia = variable.leadingTrivia
        new.leadingTrivia = []
        new.attributes = [.attribute(added.with(\.leadingTrivia, trivia))] + new.attributes
        return .replacing("write `@Relationship(inverse:)`", variable, with: new)
    }

    /// A fix-it that adds the inverse to `@Relationship`, and removes arguments without labels.
    var addingInverse: FixIt? {
        guard let relationship else { return nil }
        let arguments = PropertyArguments(relationship)
        var list = arguments.code()
        list.insert(
            "inverse: \\.<#inverse#>", at: arguments.labelled.first?.label == "to" ? 1 : 0)
        return replacing(relationship, arguments: list, "name the inverse")
    }

    /// A fix-it that removes the unlabelled arguments of `@Relationship`.
    var removingName: FixIt? {
        relationship.map {
            replacing($0, arguments: PropertyArguments($0).code(), "remove the name")
        }
    }

    /// Returns a fix-it that replaces the arguments of `@Relationship`.
    private func replacing(
        _ relationship: AttributeSyntax, arguments: [String], _ message: String
    ) -> FixIt {
        let new = AttributeSyntax("@Relationship(\(raw: arguments.joined(separator: ", ")))")
            .with(\.leadingTrivia, relationship.leadingTrivia)
            .with(\.trailingTrivia, relationship.trailingTrivia)
        return .replacing(message, relationship, with: new)
    }
}

extension PatternBindingSyntax {
    /// Whether the property has accessors other than observers.
    fileprivate var isComputed: Bool {
        switch accessorBlock?.accessors {
        case .getter?: true
        case .accessors(let list)?:
            list.contains { !["willSet", "didSet"].contains($0.accessorSpecifier.text) }
        case nil: false
        }
    }

    /// Returns the binding with a type annotation.
    fileprivate func typed(_ type: String) -> PatternBindingSyntax {
        var new = self
        new.pattern.trailingTrivia = []
        new.typeAnnotation = TypeAnnotationSyntax(
            colon: .colonToken(trailingTrivia: .space), type: TypeSyntax("\(raw: type)"),
            trailingTrivia: pattern.trailingTrivia)
        return new
    }
}
#endif
