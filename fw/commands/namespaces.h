// SPDX-License-Identifier: Apache-2.0
// Namespace Management and Namespace Attachment (Base 2.0, 5.22, 5.23 and 8.11).
#ifndef NAMESPACES_H
#define NAMESPACES_H

#include "commands/command.h"

handler_t namespace_management, namespace_attachment;

#endif
