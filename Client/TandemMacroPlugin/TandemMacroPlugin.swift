#if Macros
import SwiftCompilerPlugin
import SwiftSyntaxMacros
import TandemMacros

/// The compiler plugin that provides the macros.
@main struct TandemMacroPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ContextActorMacro.self, ModelMacro.self, PropertyListMacro.self, PropertyMacro.self,
    ]
}

// The compiler finds macros only if their types are declared in the plugin's own module.
final class ContextActorMacro: ContextActorExpansion {}
final class ModelMacro: ModelExpansion {}
final class PropertyListMacro: PropertyListExpansion {}
final class PropertyMacro: PropertyExpansion {}
#else
/// A plugin without macros, because the package's trait `Macros` is disabled.
@main enum TandemMacroPlugin {
    static func main() {}
}
#endif
